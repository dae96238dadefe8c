#pragma once

#include <type_traits>

#include "dsl/ast/decl.h"

namespace ltr::ast {

/// Calls `visit(child)` for every node directly below: an `Expr`, `TypeExpr`, `Stmt`, `Item` or `Decl`, const if
/// `node` is. Names, dims and parameters are looked through. `visit` goes deeper by calling `for_each_child` again:
///
///   struct Count {
///     int calls = 0;
///     void operator()(const auto& node) { for_each_child(node, *this); }
///     void operator()(const Expr& expr) { calls += expr.get<Call>() != nullptr; for_each_child(expr, *this); }
///   };
template <class Node, class Visit>
void for_each_child(Node& node, Visit& visit);

namespace detail {

template <class T, class... Ts>
inline constexpr bool is_one_of = (std::is_same_v<std::remove_const_t<T>, Ts> || ...);

/// Hands the nodes among its arguments to `visit`, and looks through what holds nodes.
template <class Visit>
class Children {
 public:
  explicit Children(Visit& visit) : visit_(visit) {}

  template <class... Parts>
  void operator()(Parts&... parts) {
    (one(parts), ...);
  }

 private:
  template <class T>
  void one(T& part) {
    if constexpr (is_one_of<T, Expr, TypeExpr, Stmt, Item, Decl>) {
      visit_(part);
    } else {
      inside(part);
    }
  }
  template <class T>
  void inside(Box<T>& box) {
    one(*box);
  }
  template <class T>
  void inside(const Box<T>& box) {
    one(*box);
  }
  template <class T>
  void inside(std::optional<T>& optional) {
    if (optional) one(*optional);
  }
  template <class T>
  void inside(const std::optional<T>& optional) {
    if (optional) one(*optional);
  }
  template <class T>
  void inside(std::vector<T>& list) {
    for (T& element : list) one(element);
  }
  template <class T>
  void inside(const std::vector<T>& list) {
    for (const T& element : list) one(element);
  }

  // What holds nodes without being one. Names are leaves.
  template <class T>
    requires is_one_of<T, StrPart, Argument, RecordField>
  void inside(T& part) {
    one(part.value);
  }
  template <class T>
    requires is_one_of<T, IndexItem>
  void inside(T& item) {
    (*this)(item.first, item.second);
  }
  template <class T>
    requires is_one_of<T, ScanCarry>
  void inside(T& carry) {
    one(carry.initial);
  }
  template <class T>
    requires is_one_of<T, Dim>
  void inside(T& dim) {
    one(dim.value);
  }
  template <class T>
    requires is_one_of<T, FieldType>
  void inside(T& field) {
    one(field.type);
  }
  template <class T>
    requires is_one_of<T, Param>
  void inside(T& param) {
    (*this)(param.type, param.initial);
  }
  template <class T>
    requires is_one_of<T, Fn>
  void inside(T& fn) {
    (*this)(fn.params, fn.result, fn.where, fn.value, fn.body);
  }
  template <class T>
    requires is_one_of<T, ExternFn>
  void inside(T& fn) {
    one(fn.signature);
  }
  template <class T>
    requires is_one_of<T, Setting>
  void inside(T& setting) {
    one(setting.value);
  }
  template <class T>
    requires is_one_of<T, Group>
  void inside(T& group) {
    one(group.settings);
  }
  template <class T>
    requires is_one_of<T, Section>
  void inside(T& section) {
    (*this)(section.settings, section.values);
  }

  Visit& visit_;
};

template <class Parts>
struct Alternatives {
  Parts parts;

  // Expressions.
  void operator()(auto&) const {}  // The leaves.
  template <class T>
    requires is_one_of<T, StrLiteral>
  void operator()(T& node) const {
    parts(node.parts);
  }
  template <class T>
    requires is_one_of<T, Unary>
  void operator()(T& node) const {
    parts(node.operand);
  }
  template <class T>
    requires is_one_of<T, Binary>
  void operator()(T& node) const {
    parts(node.left, node.right);
  }
  template <class T>
    requires is_one_of<T, Pipe>
  void operator()(T& node) const {
    parts(node.value, node.target);
  }
  template <class T>
    requires is_one_of<T, Call>
  void operator()(T& node) const {
    parts(node.callee, node.arguments);
  }
  template <class T>
    requires is_one_of<T, Index>
  void operator()(T& node) const {
    parts(node.base, node.items);
  }
  template <class T>
    requires is_one_of<T, Field>
  void operator()(T& node) const {
    parts(node.base);
  }
  template <class T>
    requires is_one_of<T, List, Tuple, TupleType>
  void operator()(T& node) const {
    parts(node.elements);
  }
  template <class T>
    requires is_one_of<T, Comprehension>
  void operator()(T& node) const {
    parts(node.element, node.range);
  }
  template <class T>
    requires is_one_of<T, Record, RecordType>
  void operator()(T& node) const {
    parts(node.fields);
  }
  template <class T>
    requires is_one_of<T, Paren>
  void operator()(T& node) const {
    parts(node.inner);
  }
  template <class T>
    requires is_one_of<T, IfExpr>
  void operator()(T& node) const {
    parts(node.condition, node.then_value, node.else_value);
  }
  template <class T>
    requires is_one_of<T, Lambda, ExprStmt, Let, Yield, Init, Stream>
  void operator()(T& node) const {
    parts(node.value);
  }
  template <class T>
    requires is_one_of<T, Scan>
  void operator()(T& node) const {
    parts(node.sequence, node.dim, node.carried, node.body);
  }
  template <class T>
    requires is_one_of<T, As>
  void operator()(T& node) const {
    parts(node.value, node.type);
  }

  // Types.
  template <class T>
    requires is_one_of<T, NamedType>
  void operator()(T& node) const {
    parts(node.dims);
  }
  template <class T>
    requires is_one_of<T, AppliedType>
  void operator()(T& node) const {
    parts(node.argument);
  }
  template <class T>
    requires is_one_of<T, TypeName>
  void operator()(T& node) const {
    parts(node.type);
  }
  template <class T>
    requires is_one_of<T, BlockType>
  void operator()(T& node) const {
    parts(node.params, node.result);
  }

  // Statements.
  template <class T>
    requires is_one_of<T, Unpack>
  void operator()(T& node) const {
    parts(node.value);
  }
  template <class T>
    requires is_one_of<T, Assign>
  void operator()(T& node) const {
    parts(node.target, node.value);
  }
  template <class T>
    requires is_one_of<T, Declare, State, Parameter, Const>
  void operator()(T& node) const {
    parts(node.type, node.value);
  }
  template <class T>
    requires is_one_of<T, Return, Log>
  void operator()(T& node) const {
    parts(node.value);
  }
  template <class T>
    requires is_one_of<T, Assert>
  void operator()(T& node) const {
    parts(node.condition, node.message);
  }
  template <class T>
    requires is_one_of<T, Print>
  void operator()(T& node) const {
    parts(node.values);
  }
  template <class T>
    requires is_one_of<T, Minimize>
  void operator()(T& node) const {
    parts(node.loss, node.optimizer);
  }
  template <class T>
    requires is_one_of<T, Backward>
  void operator()(T& node) const {
    parts(node.loss);
  }
  template <class T>
    requires is_one_of<T, If>
  void operator()(T& node) const {
    parts(node.condition, node.then_body, node.else_body);
  }
  template <class T>
    requires is_one_of<T, For>
  void operator()(T& node) const {
    parts(node.range, node.body);
  }
  template <class T>
    requires is_one_of<T, While>
  void operator()(T& node) const {
    parts(node.condition, node.body);
  }
  template <class T>
    requires is_one_of<T, Every>
  void operator()(T& node) const {
    parts(node.period, node.body);
  }
  template <class T>
    requires is_one_of<T, NoGrad, Hook, Test>
  void operator()(T& node) const {
    parts(node.body);
  }

  // Items and declarations.
  template <class T>
    requires is_one_of<T, Fn>
  void operator()(T& node) const {
    parts(node);
  }
  template <class T>
    requires is_one_of<T, Member>
  void operator()(T& node) const {
    parts(node.value, node.source);
  }
  template <class T>
    requires is_one_of<T, Optimizer>
  void operator()(T& node) const {
    parts(node.value, node.settings, node.groups);
  }
  template <class T>
    requires is_one_of<T, Step>
  void operator()(T& node) const {
    parts(node.fn);
  }
  template <class T>
    requires is_one_of<T, Hparam>
  void operator()(T& node) const {
    parts(node.type, node.value, node.where);
  }
  template <class T>
    requires is_one_of<T, Extern>
  void operator()(T& node) const {
    parts(node.fns);
  }
  template <class T>
    requires is_one_of<T, Metric, Block, Model, Callback>
  void operator()(T& node) const {
    parts(node.params, node.items);
  }
  template <class T>
    requires is_one_of<T, Data>
  void operator()(T& node) const {
    parts(node.params, node.batch_fields, node.items);
  }
  template <class T>
    requires is_one_of<T, Topology>
  void operator()(T& node) const {
    parts(node.settings, node.sections);
  }
  template <class T>
    requires is_one_of<T, Experiment>
  void operator()(T& node) const {
    parts(node.settings, node.sections, node.sets);
  }
};

}  // namespace detail

template <class Node, class Visit>
void for_each_child(Node& node, Visit& visit) {
  detail::Children<Visit> children(visit);
  if constexpr (detail::is_one_of<Node, Module>) {
    children(node.decls);
  } else {
    auto parts = [&children](auto&... part) { children(part...); };
    std::visit(detail::Alternatives<decltype(parts)>{parts}, node.node);
  }
}

/// Whether `expr` reads `name`; what stands in statements within it is passed over.
inline bool mentions(const Expr& expr, const std::string& name) {
  const auto* ref = expr.get<NameRef>();
  bool found = ref != nullptr && ref->name.text == name;
  const auto visit = [&](const auto& child) {
    if constexpr (std::is_same_v<std::decay_t<decltype(child)>, Expr>) found = found || mentions(child, name);
  };
  for_each_child(expr, visit);
  return found;
}

}  // namespace ltr::ast
