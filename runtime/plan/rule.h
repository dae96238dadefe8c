#pragma once

// How gradients of ops are written: each is a function of a node and of the gradients of what it gave, which appends the nodes that
// give those of what it took. One file for each room of the library below gradients/.

#include <span>

#include "runtime/plan/graph.h"
#include "runtime/tensor/dtype.h"

namespace ltr::plan {

/// Where nodes are appended.
class Builder {
 public:
  explicit Builder(Graph& graph, Location location) : graph_(graph), location_(location) {}

  /// A node of one result, a tensor of `element` whose sizes its first run tells.
  ValueId call(Op op, DType element, std::vector<Argument> arguments);
  /// A node of `count` results.
  std::vector<ValueId> call(Op op, DType element, size_t count, std::vector<Argument> arguments);
  Graph& graph() const { return graph_; }

 private:
  Graph& graph_;
  Location location_;
};

/// A value in the formula of a gradient: operators append nodes.
class Term {
 public:
  Term() = default;
  Term(Builder& builder, ValueId id) : builder_(&builder), id_(id) {}

  ValueId id() const { return id_; }
  bool is_defined() const { return id_ != kNone; }
  DType dtype() const { return value().dtype; }
  bool needs_grad() const { return value().needs_grad; }
  /// Of a value that was recorded; a copy, since formulas add values.
  Ints sizes() const { return value().sizes; }
  int64_t dim() const { return int64_t(sizes().size()); }
  int64_t size(int64_t axis) const { return sizes()[size_t(axis < 0 ? axis + dim() : axis)]; }
  int64_t count() const;

  /// `op(*this, arguments…)`: a tensor of this element type, or of `element`.
  template <class... Rest>
  Term call(Op op, Rest&&... rest) const {
    return call_as(op, dtype(), std::forward<Rest>(rest)...);
  }
  template <class... Rest>
  Term call_as(Op op, DType element, Rest&&... rest) const {
    return {*builder_, builder_->call(op, element, {argument(*this), argument(std::forward<Rest>(rest))...})};
  }
  Builder& builder() const { return *builder_; }

  static Argument argument(const Term& term) { return ValueRef{term.id_}; }
  static Argument argument(int number) { return int64_t(number); }
  template <class Host>
  static Argument argument(const Host& value) {
    return value;
  }

 private:
  const Value& value() const { return builder_->graph().values[id_]; }
  Builder* builder_ = nullptr;
  ValueId id_ = kNone;
};

#define LTR_TERM_OPERATOR(symbol, op)                                                                    \
  inline Term operator symbol(const Term& a, const Term& b) { return a.call(Op::op, b); }                \
  inline Term operator symbol(const Term& a, double b) { return a.call(Op::op##_number, b); }            \
  inline Term operator symbol(double a, const Term& b) {                                                 \
    return {b.builder(), b.builder().call(Op::number_##op, b.dtype(), {Argument(a), ValueRef{b.id()}})}; \
  }
LTR_TERM_OPERATOR(+, add)
LTR_TERM_OPERATOR(-, sub)
LTR_TERM_OPERATOR(*, mul)
LTR_TERM_OPERATOR(/, div)
#undef LTR_TERM_OPERATOR
inline Term operator-(const Term& x) { return x.call(Op::neg); }
/// `a` where `condition` holds, else `b`.
inline Term choose(const Term& condition, const Term& a, const Term& b) {
  return condition.call_as(Op::where, a.dtype(), a, b);
}
inline Term choose(const Term& condition, const Term& a, double b) {
  return condition.call_as(Op::where_number, a.dtype(), a, b);
}
inline Term choose(const Term& condition, double a, const Term& b) {
  return condition.call_as(Op::number_where, b.dtype(), a, b);
}

/// Zeros of `sizes`, of the element type of `like`.
inline Term zeros_as(const Term& like, const Ints& sizes) {
  Builder& builder = like.builder();
  return {builder, builder.call(Op::blank, like.dtype(), {sizes, Str(to_text(like.dtype()))})};
}

/// What a rule is given.
class Step {
 public:
  Step(Graph& graph, const Node& node, std::vector<ValueId> gradients)
      : builder_(graph, node.location), node_(node), gradients_(std::move(gradients)), found_(node.arguments.size()) {}

  /// The argument `at`, and the result `at`, of the node.
  Term in(size_t at) { return {builder_, node_.value(at).id}; }
  Term out(size_t at = 0) { return {builder_, node_.results[at]}; }
  /// The gradient of the result `at`; not defined where the loss does not hang on it.
  Term gradient(size_t at = 0) { return {builder_, gradients_[at]}; }
  template <class T>
  const T& host(size_t at) const {
    return node_.host<T>(at);
  }
  /// Of an optional number.
  template <class T>
  Option<T> optional(size_t at) const {
    const T* number = std::get_if<T>(&node_.arguments[at]);
    return number != nullptr ? Option<T>(*number) : std::nullopt;
  }
  const Node& node() const { return node_; }
  /// A tensor like the gradient, by an op that draws what the node drew, in its mode.
  Term redrawn(Op op, std::vector<Argument> arguments) { return {builder_, redrawn(op, 1, std::move(arguments))}; }
  /// The first of `count` such tensors.
  ValueId redrawn(Op op, size_t count, std::vector<Argument> arguments);
  Builder& builder() { return builder_; }
  /// Whether the gradient of the argument `at` is asked for: it is there, and hangs on a weight.
  bool wants(size_t at) const;
  /// Says the gradient of the argument `at`.
  void give(size_t at, const Term& gradient);
  /// Likewise of one that was broadcast to the sizes of the only result, as `gradient` is: summed back.
  void give_summed(size_t at, const Term& gradient);
  /// Likewise of the elements of a list.
  void give(size_t at, std::vector<Term> gradients);
  /// Says that none flows to the argument `at`. Of one that is asked for and of which nothing is said none is known.
  void stop(size_t at) { found_[at] = {kNone}; }
  /// Whether something was said of each that is asked for.
  bool says_all() const;

  const std::vector<std::vector<ValueId>>& found() const { return found_; }

 private:
  Builder builder_;
  const Node node_;  // a copy: nodes are appended meanwhile
  std::vector<ValueId> gradients_;
  std::vector<std::vector<ValueId>> found_;
};

using Rule = void (*)(Step& step);
struct RuleRow {
  Op op;
  Rule rule;
};
// The rooms, each in its file below gradients/.
std::span<const RuleRow> elementwise_rules();
std::span<const RuleRow> shape_rules();
std::span<const RuleRow> reduction_rules();
std::span<const RuleRow> product_rules();
std::span<const RuleRow> einsum_rules();
std::span<const RuleRow> normalization_rules();
std::span<const RuleRow> loss_rules();
std::span<const RuleRow> recurrent_rules();
/// Of `op`; null if it has none: no gradient flows through what gives whole numbers, and none is known of the others.
Rule rule_of(Op op);

}  // namespace ltr::plan
