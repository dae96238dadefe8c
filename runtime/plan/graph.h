#pragma once

// A step as it was recorded: values with their sizes, and what is computed of them, in order.

#include <cstdint>
#include <string_view>
#include <variant>
#include <vector>

#include "ltr/api.h"

namespace ltr::plan {

/// Index into `Graph::values`; kNone is `none`, an optional tensor that is not there.
using ValueId = uint32_t;
inline constexpr ValueId kNone = ~ValueId(0);

/// What a node computes: a function of the facade, or an op that only graphs have (ops.def).
enum class Op : uint16_t {
#define LTR_FACADE(op, name, args, params, ...) op,
#include "runtime/tensor/facade.def"
#include "runtime/tensor/operators.def"
#define LTR_PLAN_OP(op, name, args, params, ...) op,
#include "runtime/plan/ops.def"
};
inline constexpr size_t kOps = 0
#define LTR_FACADE(op, name, args, params, ...) +1
#include "runtime/tensor/facade.def"
#include "runtime/tensor/operators.def"
#define LTR_PLAN_OP(op, name, args, params, ...) +1
#include "runtime/plan/ops.def"
    ;
std::string_view name_of(Op op);
/// R1006 for a name that no op has.
Op op_of(std::string_view name);

struct ValueRef {
  ValueId id = kNone;
  bool operator==(const ValueRef&) const = default;
};
/// An argument as the function takes it: values, or what the host knew when it was recorded; monostate is no number.
using Argument =
    std::variant<ValueRef, std::vector<ValueRef>, std::monostate, bool, int64_t, double, Str, Ints, Floats>;

struct Node {
  Op op = Op::neg;
  std::vector<Argument> arguments;  ///< of the function, in order
  std::vector<ValueId> results;
  Option<uint64_t> site;    ///< of its first draw, counted in the step; nothing if it draws none
  bool is_training = true;  ///< the mode of blocks when it ran
  uint32_t block =
      0;  ///< the call of a block that is computed again, from 1 on, or of the node that this one differentiates
  Location location;

  const ValueRef& value(size_t argument) const { return std::get<ValueRef>(arguments[argument]); }
  template <class T>
  const T& host(size_t argument) const {
    return std::get<T>(arguments[argument]);
  }
};

/// `each(id)` for every value that `node` takes.
template <class Each>
void each_read(const Node& node, const Each& each) {
  const auto one = [&](ValueRef value) {
    if (value.id != kNone) each(value.id);
  };
  for (const Argument& argument : node.arguments) {
    if (const auto* value = std::get_if<ValueRef>(&argument)) one(*value);
    if (const auto* list = std::get_if<std::vector<ValueRef>>(&argument)) {
      for (const ValueRef value : *list) one(value);
    }
  }
}

struct Value {
  enum class Kind : uint8_t { Result, Input, Weight, Constant };
  Kind kind = Kind::Result;
  DType dtype = DType::F32;
  Ints sizes;
  bool is_sized = false;    ///< a gradient's sizes come from its first run
  bool needs_grad = false;  ///< a loss may be differentiated by it, or through it
  Str name;                 ///< of an input or weight
};

struct Graph {
  ValueId add(Value value) {
    values.push_back(std::move(value));
    return ValueId(values.size() - 1);
  }

  std::vector<Value> values;
  std::vector<Node> nodes;
  /// What the step gives, in the order in which it is asked for: losses and logs.
  std::vector<ValueId> outputs;
};

/// One line for each value that is given, and for each node:
///
///   %0 : f32[64, 32] = input x
///   %1 : f32[64, 32] = weight net.0.weight
///   %2 : f32[64, 64] = linear(%0, %1, none)
///   return %2
Str to_text(const Graph& graph);
/// Reads what `to_text` wrote; R1006 with the line that is not understood. Constants have no values there.
Graph graph_of(std::string_view text);

}  // namespace ltr::plan
