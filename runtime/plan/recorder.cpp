#include "runtime/plan/recorder.h"

#include "runtime/api/error.h"
#include "runtime/tensor/handle.h"
#include "runtime/tensor/mode.h"

namespace ltr::plan {

// Nobody else listens to steps.
Recorder::Recorder() : before_(std::exchange(StepWatch::here(), this)) {}
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
