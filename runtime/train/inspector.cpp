#include "runtime/train/inspector.h"

#include <ATen/ATen.h>
#include <ATen/record_function.h>
#include <torch/csrc/autograd/function.h>

#include <algorithm>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "runtime/tensor/dtype.h"
#include "runtime/tensor/handle.h"

namespace ltr {

namespace {

/// What is in a tensor: 0 numbers, 1 infinities too, 2 nan too.
int worst_of(const at::Tensor& tensor) {
  if (!tensor.defined() || !tensor.is_floating_point() || tensor.numel() == 0) return 0;
  if (at::isfinite(tensor).all().item<bool>()) return 0;
  return at::isnan(tensor).any().item<bool>() ? 2 : 1;
}

Str range_of(const at::Tensor& tensor) {
  Str text = fmt::format("{}[{}]", to_text(dtype_of(tensor.scalar_type())), fmt::join(tensor.sizes().vec(), ", "));
  if (tensor.numel() == 0 || tensor.scalar_type() == at::kBool) return text;
  const at::Tensor wide = tensor.to(at::kDouble);
  return text + fmt::format(" from {:.4g} to {:.4g}", wide.min().item<double>(), wide.max().item<double>());
}

/// Whether an op only finds memory: what is in it is nobody's result.
bool is_blank(std::string_view op) {
  return op.starts_with("aten::empty") || op.starts_with("aten::new_empty") || op.starts_with("aten::resize");
}

/// An op made infinities or nan of better operands.
struct Finding {
  Str op;
  Location location;
  std::vector<Str> operands;
  bool is_nan = false;
  bool is_backward = false;
};

/// What a tensor's numbers lie in; views share it.
const void* memory_of(const at::Tensor& tensor) {
  return tensor.defined() && tensor.has_storage() ? tensor.storage().data() : nullptr;
}

bool lies_in_one_of(const at::Tensor& tensor, const std::vector<at::Tensor>& others) {
  return std::ranges::any_of(others, [&](const at::Tensor& one) { return memory_of(one) == memory_of(tensor); });
}

void put_tensors(const c10::IValue& value, std::vector<at::Tensor>& into) {
  if (value.isTensor() && value.toTensor().defined()) into.push_back(value.toTensor());
  if (!value.isTensorList()) return;
  for (const at::Tensor& one : value.toTensorVector()) {
    if (one.defined()) into.push_back(one);
  }
}

}  // namespace

// A mask takes away what an op made, so the first one is not always who is wanted. What is not finite is followed from op to op, by
// the memory that it lies in: the newest of what ops took is what the error is about.
struct Inspector::Impl {
  at::CallbackHandle handle = 0;
  std::unordered_map<int64_t, Location> forward_of;  ///< lines of ops that have a gradient, by autograd's number
  std::vector<Location> backward;                    ///< of the backward ops under way, by their forward op
  std::vector<Finding> findings;
  struct Origin {
    size_t finding;
    int64_t since;  ///< the op that put it there
  };
  std::unordered_map<const void*, Origin> origins;  ///< of what lay there last that was not finite
  int64_t ended = 0;                                ///< ops
  Option<size_t> newest;

  struct Operands : at::ObserverContext {
    std::vector<at::Tensor> tensors;
    Location location;
    int64_t began = 0;  ///< ops that had ended
  };
  void look(const at::RecordFunction& op, const Operands& operands);

 private:
  struct Taken {
    int worst = 0;
    Option<size_t> from;
  };
  Taken taken_by(const Operands& operands, const std::vector<at::Tensor>& results, bool is_bad) const;
  size_t add(const at::RecordFunction& op, const Operands& operands, int worst);
};

namespace {

thread_local Inspector::Impl* current = nullptr;

using Operands = Inspector::Impl::Operands;

std::unique_ptr<at::ObserverContext> before(const at::RecordFunction& op) {
  if (current == nullptr) return nullptr;
  if (op.scope() == at::RecordScope::BACKWARD_FUNCTION) {
    const auto found = current->forward_of.find(op.seqNr());
    current->backward.push_back(found == current->forward_of.end() ? current_location() : found->second);
    return nullptr;
  }
  auto operands = std::make_unique<Operands>();
  operands->location = current->backward.empty() ? current_location() : current->backward.back();
  operands->began = current->ended;
  for (const c10::IValue& input : op.inputs()) put_tensors(input, operands->tensors);
  return operands;
}

void after(const at::RecordFunction& op, at::ObserverContext* context) {
  if (current == nullptr) return;
  if (op.scope() == at::RecordScope::BACKWARD_FUNCTION) {
    if (!current->backward.empty()) current->backward.pop_back();
    return;
  }
  if (context != nullptr) current->look(op, *static_cast<const Operands*>(context));
}

}  // namespace

void Inspector::Impl::look(const at::RecordFunction& op, const Operands& operands) {
  // What is computed to look is not looked at.
  const at::RecordFunctionGuard off(false);
  const at::NoGradGuard no_grad;
  std::vector<at::Tensor> results;
  for (const c10::IValue& output : op.outputs()) put_tensors(output, results);
  std::vector<int> kinds;
  for (const at::Tensor& result : results) {
    if (const auto& node = result.grad_fn()) forward_of.emplace(int64_t(node->sequence_nr()), operands.location);
    kinds.push_back(is_blank(op.name()) ? 0 : worst_of(result));
  }
  const int worst = kinds.empty() ? 0 : std::ranges::max(kinds);
  Taken taken = taken_by(operands, results, worst > 0);
  if (taken.from) newest = taken.from;
  ++ended;
  bool is_added = false;
  for (size_t i = 0; i < results.size(); ++i) {
    const void* memory = memory_of(results[i]);
    if (kinds[i] == 0) {
      if (!lies_in_one_of(results[i], operands.tensors)) origins.erase(memory);
      continue;
    }
    const auto known = origins.find(memory);
    // An op within this one has put it there.
    if (known != origins.end() && known->second.since > operands.began) continue;
    // An infinity that is made a nan is the fault of who made the nan.
    if (worst > taken.worst && !std::exchange(is_added, true)) newest = taken.from = add(op, operands, worst);
    if (taken.from)
      origins[memory] = {*taken.from, ended};
    else
      origins.erase(memory);
  }
}

Inspector::Impl::Taken Inspector::Impl::taken_by(const Operands& operands, const std::vector<at::Tensor>& results,
                                                 bool is_bad) const {
  Taken taken;
  for (const at::Tensor& operand : operands.tensors) {
    const auto known = origins.find(memory_of(operand));
    // What an op writes into has the result by now.
    if (known == origins.end() && (!is_bad || lies_in_one_of(operand, results))) continue;
    const int worst = worst_of(operand);
    if (worst <= taken.worst) continue;
    taken = {worst, known == origins.end() ? std::nullopt : Option<size_t>(known->second.finding)};
  }
  return taken;
}

size_t Inspector::Impl::add(const at::RecordFunction& op, const Operands& operands, int worst) {
  Finding finding{op.name(), operands.location, {}, worst == 2, !backward.empty()};
  for (const at::Tensor& operand : operands.tensors) finding.operands.push_back(range_of(operand));
  findings.push_back(std::move(finding));
  return findings.size() - 1;
}

Inspector::Inspector() : impl_(new Impl) {
  current = impl_.get();
  impl_->handle =
      at::addThreadLocalCallback(at::RecordFunctionCallback(before, after)
                                     .needsInputs(true)
                                     .needsOutputs(true)
                                     .scopes({at::RecordScope::FUNCTION, at::RecordScope::BACKWARD_FUNCTION}));
}

Inspector::~Inspector() {
  at::removeCallback(impl_->handle);
  current = nullptr;
}

Error Inspector::explained(Error error) const {
  if (!impl_->newest) return error;
  const Finding& finding = impl_->findings[*impl_->newest];
  error.location = finding.location;
  error.help = fmt::format("{} makes the first {} here{}{}{}", finding.op, finding.is_nan ? "nan" : "infinity",
                           finding.is_backward ? ", in the backward pass" : "", finding.operands.empty() ? "" : ", of ",
                           fmt::join(finding.operands, " and "));
  return error;
}

}  // namespace ltr
