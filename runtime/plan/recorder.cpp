#include "runtime/plan/recorder.h"

#include "runtime/api/error.h"
#include "runtime/tensor/handle.h"
#include "runtime/tensor/mode.h"

namespace ltr::plan {

namespace {

thread_local Recorder* current = nullptr;

}  // namespace

Recorder::Recorder() : before_(std::exchange(current, this)) {}
Recorder::~Recorder() { current = before_; }
Recorder* Recorder::here() { return current; }

ValueId Recorder::add(const Tensor& tensor, Value::Kind kind, const Str& name) {
  const In source(tensor);
  Value value;
  value.kind = kind;
  value.dtype = dtype_of(source->scalar_type());
  value.sizes = source->sizes().vec();
  value.is_sized = true;
  value.needs_grad = source->requires_grad();
  value.name = name;
  const ValueId id = graph_.add(std::move(value));
  ids_[tensor.impl()] = id;
  held_.push_back(tensor);
  return id;
}

ValueId Recorder::given(const Tensor& tensor, Value::Kind kind, const Str& name) {
  const auto known = ids_.find(tensor.impl());
  return known != ids_.end() ? known->second : add(tensor, kind, name);
}

ValueId Recorder::id_of(const Tensor& tensor) {
  if (!tensor.defined()) return kNone;
  const auto known = ids_.find(tensor.impl());
  if (known != ids_.end()) return known->second;
  const ValueId id = add(tensor, Value::Kind::Constant, fmt::format("c{}", constants_.size()));
  constants_.emplace(id, tensor);
  return id;
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
  node.location = current_location();
  for (const Tensor* result : results)
    node.results.push_back(result->defined() ? add(*result, Value::Kind::Result, "") : kNone);
  graph_.nodes.push_back(std::move(node));
}

}  // namespace ltr::plan
