#include "runtime/plan/recorder.h"

#include <ATen/ops/zeros.h>
#include <c10/core/GradMode.h>

#include <algorithm>

#include "runtime/api/error.h"
#include "runtime/tensor/device.h"
#include "runtime/tensor/draw.h"
#include "runtime/tensor/dtype.h"
#include "runtime/tensor/handle.h"
#include "runtime/tensor/mode.h"

namespace ltr::plan {

// Nobody else listens to steps.
Recorder::Recorder(const Recording* known) : known_(known), before_(std::exchange(StepWatch::here(), this)) {}
Recorder::~Recorder() { StepWatch::here() = before_; }
Recorder* Recorder::here() { return static_cast<Recorder*>(StepWatch::here()); }

ValueId Recorder::add(const Tensor& tensor, Value::Kind kind, const Str& name) {
  const In source(tensor);
  Value value;
  value.kind = kind;
  value.dtype = dtype_of(source->scalar_type());
  value.sizes = source->sizes().vec();
  value.is_sized = true;
  value.needs_grad = source->requires_grad();
  value.name = name;
  held_.emplace_back(source->getIntrusivePtr());
  return recorded_.graph.add(std::move(value));
}

ValueId Recorder::given(const Tensor& tensor, Value::Kind kind, const Str& name) {
  if (!tensor.defined()) return kNone;
  const auto known = ids_.find(tensor.impl());
  return known != ids_.end() ? known->second : (ids_[tensor.impl()] = add(tensor, kind, name));
}

ValueId Recorder::weight(const Tensor& tensor, const Str& path) {
  const ValueId id = given(tensor, Value::Kind::Weight, path);
  recorded_.kept.emplace(id, tensor);
  return id;
}

ValueId Recorder::constant(const Tensor& tensor) {
  const ValueId id = add(tensor, Value::Kind::Constant, fmt::format("c{}", constants_.size()));
  constants_.emplace(id, tensor);
  return id;
}

ValueId Recorder::id_of(const Tensor& tensor) {
  if (!tensor.defined()) return kNone;
  const auto known = ids_.find(tensor.impl());
  if (known == ids_.end()) return ids_[tensor.impl()] = constant(tensor);
  // Of a weight that is frozen here, other reads may be trained.
  const bool is_frozen = recorded_.graph.values[known->second].needs_grad && !In(tensor)->requires_grad();
  if (!is_frozen) return known->second;
  const auto frozen = frozen_.find(tensor.impl());
  return frozen != frozen_.end() ? frozen->second : (frozen_[tensor.impl()] = constant(tensor));
}

std::vector<ValueId> Recorder::ids_of(const Weights& weights) {
  std::vector<ValueId> ids;
  for (const Weight& weight : weights) ids.push_back(id_of(weight.tensor));
  return ids;
}

Option<std::vector<Tensor>> Recorder::stand_ins(Op op, const std::vector<Argument>& arguments) const {
  const size_t at = recorded_.graph.nodes.size();
  if (known_ == nullptr || at >= known_->graph.nodes.size()) return std::nullopt;
  const Node& node = known_->graph.nodes[at];
  const uint64_t site = DrawScope::here().site;
  if (node.op != op || node.site.value_or(site) != site || node.is_training != is_training() || node.block != block_ ||
      node.arguments != arguments)
    return std::nullopt;
  const std::vector<Value>&now = recorded_.graph.values, &then = known_->graph.values;
  bool is_as_large = true, is_trained = false, takes_any = false;
  each_read(node, [&](ValueId id) {
    is_as_large = is_as_large && id < then.size() && now[id].sizes == then[id].sizes && now[id].dtype == then[id].dtype;
    is_trained = is_trained || now[id].needs_grad;
    takes_any = true;
  });
  const bool was_trained =
      std::ranges::any_of(node.results, [&](ValueId id) { return id != kNone && then[id].needs_grad; });
  // Whether gradients flow is asked anew: by LibTorch, unless it is plain.
  if (!takes_any || !is_as_large || was_trained != (is_trained && c10::GradMode::is_enabled())) return std::nullopt;
  if (node.site) DrawScope::go_on_at(known_->sites[at]);
  const NoGrad no_grad;
  std::vector<Tensor> results;
  for (const ValueId id : node.results) {
    if (id == kNone) {
      results.emplace_back();
      continue;
    }
    const at::TensorOptions options = at::TensorOptions(aten(then[id].dtype)).device(run_device());
    // One element stands for all of them.
    at::Tensor zeros = at::zeros({}, options).expand(then[id].sizes);
    results.push_back(give(zeros.set_requires_grad(then[id].needs_grad)));
  }
  return results;
}

void Recorder::note(Op op, std::vector<Argument> arguments, const std::vector<const Tensor*>& results,
                    Option<uint64_t> site) {
  // What an op gives back as it came, as `dropout` does in evaluation, is that value.
  if (results.size() == 1 && ids_.contains(results.front()->impl())) return;
  Node node;
  node.op = op;
  node.arguments = std::move(arguments);
  node.site = site;
  node.is_training = is_training();
  node.block = block_;
  node.location = current_location();
  for (const Tensor* result : results)
    node.results.push_back(result->defined() ? given(*result, Value::Kind::Result, "") : kNone);
  recorded_.graph.nodes.push_back(std::move(node));
  recorded_.sites.push_back(DrawScope::here().site);
}

void Recorder::begin_again() { block_ = ++blocks_; }

void Recorder::end_again() { block_ = 0; }

void Recorder::refuse(const char* reason) {
  if (!recorded_.refusal) recorded_.refusal = Refusal{reason, current_location()};
}

Recording Recorder::take() {
  for (GivenState& state : recorded_.states) state.after = id_of(*state.state);
  recorded_.kept.insert(constants_.begin(), constants_.end());
  return std::move(recorded_);
}

}  // namespace ltr::plan
