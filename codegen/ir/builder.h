#pragma once

#include "codegen/ir/step.h"

namespace ltr::ir {

/// Appends ops to the innermost open region of one function.
class Builder {
 public:
  explicit Builder(Function& function) : function_(function) {
    // What most functions have: a list that grows moves all that is in it.
    constexpr size_t kMostly = 16;
    function.values.reserve(kMostly);
    function.body.ops.reserve(kMostly);
    open_.push_back(&function.body);
  }

  Loc loc;  ///< of the ops to come

  ValueId param(Type type, std::string name = {});
  /// A parameter of the innermost open region.
  ValueId region_param(Type type, std::string name = {});
  ValueId constant(Type type, Constant value);
  ValueId int_const(int64_t value) { return constant(Type::of(TypeKind::Int), value); }
  ValueId float_const(double value) { return constant(Type::of(TypeKind::Float), value); }
  ValueId bool_const(bool value) { return constant(Type::of(TypeKind::Bool), value); }
  ValueId str_const(std::string value) { return constant(Type::of(TypeKind::Str), std::move(value)); }
  ValueId none() { return constant(Type::of(TypeKind::None), NoneConstant{}); }

  /// An op without regions; `type` Void: without result.
  ValueId op(OpKind kind, Type type, std::vector<ValueId> operands, std::string name = {},
             std::vector<Attr> attrs = {});
  void effect(OpKind kind, std::vector<ValueId> operands, std::string name = {}, std::vector<Attr> attrs = {}) {
    op(kind, Type::of(TypeKind::Void), std::move(operands), std::move(name), std::move(attrs));
  }
  /// A call of a function of the library.
  ValueId call(library::Id function, Type type, std::vector<ValueId> operands, OpKind kind = OpKind::CallOp);
  ValueId host(host::Op op, Type type, std::vector<ValueId> operands);
  /// Says where the operands of the newest op stand, the last of them if it has more operands than that.
  void written(std::vector<source::Span> spans);
  /// Of the newest op: where what is called is written.
  void element(source::Span span) { open_.back()->ops.back().element = span; }
  /// An op with regions, appended as it is.
  void append(Op op) { open_.back()->ops.push_back(std::move(op)); }
  ValueId new_value(Type type, std::string name = {});

  /// Ops go to `region` until `close`.
  void open(Region& region) { open_.push_back(&region); }
  void close() { open_.pop_back(); }

  /// The newest op of the innermost open region, if it has one.
  const Op* newest() const { return open_.back()->ops.empty() ? nullptr : &open_.back()->ops.back(); }
  const Type& type(ValueId id) const { return function_.values[id].type; }
  const Value& value(ValueId id) const { return function_.values[id]; }
  Function& function() { return function_; }
  bool is_terminated() const {
    const Region& region = *open_.back();
    return !region.ops.empty() && region.ops.back().effect() == Effect::Exit;
  }

 private:
  Function& function_;
  std::vector<Region*> open_;
};

}  // namespace ltr::ir
