#include "runtime/plan/reference.h"

#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/ops/zeros.h>

#include <algorithm>

#include "runtime/api/error.h"
#include "runtime/plan/ops.h"
#include "runtime/plan/sizes.h"
#include "runtime/tensor/draw.h"
#include "runtime/tensor/dtype.h"
#include "runtime/tensor/handle.h"
#include "runtime/tensor/mode.h"

namespace ltr::plan {

namespace {

using Values = std::vector<Tensor>;

/// The argument of a function, from what a node holds.
template <class Param>
struct Given;

template <>
struct Given<const Tensor&> {
  static const Tensor& of(const Argument& argument, const Values& values) {
    static const Tensor none;
    const ValueId id = std::get<ValueRef>(argument).id;
    return id == kNone ? none : values[id];
  }
};
template <>
struct Given<const Tensors&> {
  static Tensors of(const Argument& argument, const Values& values) {
    Tensors list;
    for (const ValueRef value : std::get<std::vector<ValueRef>>(argument)) list.push_back(values[value.id]);
    return list;
  }
};
template <>
struct Given<Scalar> {
  static Scalar of(const Argument& argument, const Values&) {
    const auto* whole = std::get_if<int64_t>(&argument);
    return whole != nullptr ? Scalar(*whole) : Scalar(std::get<double>(argument));
  }
};
template <>
struct Given<DType> {
  static DType of(const Argument& argument, const Values&) { return dtype_named(std::get<Str>(argument)).value(); }
};
template <class Number>
struct Given<Option<Number>> {
  static Option<Number> of(const Argument& argument, const Values&) {
    const auto* number = std::get_if<Number>(&argument);
    return number != nullptr ? Option<Number>(*number) : std::nullopt;
  }
};
template <class Host>
struct GivenHost {
  static const Host& of(const Argument& argument, const Values&) { return std::get<Host>(argument); }
};
template <>
struct Given<bool> : GivenHost<bool> {};
template <>
struct Given<int64_t> : GivenHost<int64_t> {};
template <>
struct Given<double> : GivenHost<double> {};
template <>
struct Given<const Str&> : GivenHost<Str> {};
template <>
struct Given<const Ints&> : GivenHost<Ints> {};
template <>
struct Given<const Floats&> : GivenHost<Floats> {};

void put(Values& values, const std::vector<ValueId>& ids, Tensor result) { values[ids[0]] = std::move(result); }
void put(Values& values, const std::vector<ValueId>& ids, Tensors results) {
  for (size_t i = 0; i < ids.size(); ++i) values[ids[i]] = std::move(results[i]);
}
template <class... Parts>
void put(Values& values, const std::vector<ValueId>& ids, const std::tuple<Parts...>& results) {
  size_t i = 0;
  const auto one = [&](const Tensor& part) {
    if (ids[i] != kNone) values[ids[i]] = part;
    ++i;
  };
  std::apply([&](const auto&... parts) { (one(parts), ...); }, results);
}

template <class Result, class... Params, size_t... at>
void call(Result (*function)(Params...), const Node& node, Values& values, std::index_sequence<at...>) {
  put(values, node.results, function(Given<Params>::of(node.arguments[at], values)...));
}

using CallOfNode = void (*)(const Node&, Values&);
template <class Result, class... Params>
void call(Result (*function)(Params...), const Node& node, Values& values) {
  call(function, node, values, std::index_sequence_for<Params...>{});
}

constexpr CallOfNode kCalls[] = {
#define LTR_CALL(function, params, ...) \
  [](const Node& node, Values& values) { call(static_cast<__VA_ARGS__(*) params>(&function), node, values); },
#define LTR_FACADE(op, name, args, params, ...) LTR_CALL(ltr::name, params, __VA_ARGS__)
#include "runtime/tensor/facade.def"
#include "runtime/tensor/operators.def"
#define LTR_PLAN_OP(op, name, args, params, ...) LTR_CALL(ltr::plan::name, params, __VA_ARGS__)
#include "runtime/plan/ops.def"
};

}  // namespace

Reference::Reference(const Graph& graph, const std::unordered_map<ValueId, Tensor>& constants) : graph_(graph) {
  clear(constants);
}

void Reference::clear(const std::unordered_map<ValueId, Tensor>& constants) {
  values_.assign(graph_.values.size(), {});
  for (const auto& [id, tensor] : constants) values_[id] = tensor;
}

void Reference::run(size_t begin, size_t end) {
  Option<at::AutoDispatchBelowADInplaceOrView> below;
  if (!has_autograd_) below.emplace();
  const uint64_t key = DrawScope::here().key;
  for (size_t i = begin; i < end; ++i) {
    position_ = i;
    const Node& node = graph_.nodes[i];
    at(node.location);
    if (!leaves_out(node)) {
      const ModeScope mode(node.is_training, needs_grad(node));
      const DrawScope draws({key, node.site.value_or(0)});
      kCalls[size_t(node.op)](node, values_);
      if (noted_ != nullptr) note(node);
    }
    if (forgotten_.empty()) continue;
    for (const ValueId id : forgotten_[i]) values_[id] = Tensor();
  }
}

bool Reference::needs_grad(const Node& node) const {
  return has_autograd_ &&
         std::ranges::any_of(node.results, [&](ValueId id) { return id != kNone && graph_.values[id].needs_grad; });
}

bool Reference::leaves_out(const Node& node) {
  // Of whole numbers some tell sizes.
  const auto is_known = [&](ValueId id) {
    return id == kNone || (graph_.values[id].is_sized && !c10::isIntegralType(aten(graph_.values[id].dtype), false));
  };
  if (!leaves_out_sized_) return false;
  if (!std::ranges::all_of(node.results, is_known) && !(noted_ != nullptr && tell_sizes(*noted_, node))) return false;
  for (const ValueId id : node.results) {
    if (id == kNone) continue;
    // One element stands for all of them.
    const Value& value = graph_.values[id];
    if (!value.is_sized) continue;
    values_[id] = give(at::zeros({}, aten(value.dtype)).expand(value.sizes));
  }
  return true;
}

void Reference::note(const Node& node) {
  for (const ValueId id : node.results) {
    if (id == kNone || !values_[id].defined()) continue;
    noted_->values[id].sizes = In(values_[id])->sizes().vec();
    noted_->values[id].dtype = dtype_of(In(values_[id])->scalar_type());
    noted_->values[id].is_sized = true;
  }
}

}  // namespace ltr::plan
