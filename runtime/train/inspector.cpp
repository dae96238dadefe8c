#include "runtime/train/inspector.h"

#include <ATen/ATen.h>
#include <ATen/record_function.h>
#include <torch/csrc/autograd/function.h>

#include <string_view>
#include <unordered_map>
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

/// An op made `kind` of its operands.
struct Finding {
  Str op;
  Location location;
  std::vector<Str> operands;
  bool is_backward = false;
};

}  // namespace

struct Inspector::Impl {
  at::CallbackHandle handle = 0;
  std::unordered_map<int64_t, Location> forward_of;  ///< lines of ops that have a gradient, by autograd's number
  std::vector<Location> backward;                    ///< of the backward ops under way, by their forward op
  Option<Finding> infinity;
  Option<Finding> nan;

  void look(const at::RecordFunction& op, const std::vector<at::Tensor>& inputs, const Location& location);
};

namespace {

thread_local Inspector::Impl* current = nullptr;

struct Operands : at::ObserverContext {
  std::vector<at::Tensor> tensors;
  Location location;
};

std::unique_ptr<at::ObserverContext> before(const at::RecordFunction& op) {
  if (current == nullptr) return nullptr;
  if (op.scope() == at::RecordScope::BACKWARD_FUNCTION) {
    const auto found = current->forward_of.find(op.seqNr());
    current->backward.push_back(found == current->forward_of.end() ? current_location() : found->second);
    return nullptr;
  }
  auto operands = std::make_unique<Operands>();
  operands->location = current->backward.empty() ? current_location() : current->backward.back();
  for (const c10::IValue& input : op.inputs()) {
    if (input.isTensor()) operands->tensors.push_back(input.toTensor());
    if (!input.isTensorList()) continue;
    for (const at::Tensor& one : input.toTensorVector()) operands->tensors.push_back(one);
  }
  return operands;
}

void after(const at::RecordFunction& op, at::ObserverContext* context) {
  if (current == nullptr) return;
  if (op.scope() == at::RecordScope::BACKWARD_FUNCTION) {
    if (!current->backward.empty()) current->backward.pop_back();
    return;
  }
  if (context == nullptr) return;
  const auto* operands = static_cast<const Operands*>(context);
  current->look(op, operands->tensors, operands->location);
}

}  // namespace

void Inspector::Impl::look(const at::RecordFunction& op, const std::vector<at::Tensor>& inputs,
                           const Location& location) {
  // What is computed to look is not looked at.
  const at::RecordFunctionGuard off(false);
  const at::NoGradGuard no_grad;
  int worst = 0;
  for (const c10::IValue& output : op.outputs()) {
    if (!output.isTensor() || !output.toTensor().defined()) continue;
    const at::Tensor& tensor = output.toTensor();
    if (const auto& node = tensor.grad_fn()) forward_of.emplace(int64_t(node->sequence_nr()), location);
    if (!nan && !is_blank(op.name())) worst = std::max(worst, worst_of(tensor));
  }
  Option<Finding>& place = worst == 2 ? nan : infinity;
  if (worst == 0 || place) return;
  for (const at::Tensor& input : inputs) {
    // It was bad before. An infinity that is made a nan is the fault of who made the nan.
    if (worst_of(input) >= worst) return;
  }
  Finding finding{op.name(), location, {}, !backward.empty()};
  for (const at::Tensor& input : inputs) {
    if (input.defined()) finding.operands.push_back(range_of(input));
  }
  place = std::move(finding);
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
  const Option<Finding>& finding = impl_->nan ? impl_->nan : impl_->infinity;
  if (!finding) return error;
  error.location = finding->location;
  error.help = fmt::format("{} makes the first {} here{}{}{}", finding->op, impl_->nan ? "nan" : "infinity",
                           finding->is_backward ? ", in the backward pass" : "",
                           finding->operands.empty() ? "" : ", of ", fmt::join(finding->operands, " and "));
  return error;
}

}  // namespace ltr
