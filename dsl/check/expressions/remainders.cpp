#include "dsl/check/expressions/remainders.h"

namespace ltr::check {

namespace {

using ast::BinaryOp;

/// `b OP a` of `a OP b`.
BinaryOp mirrored(BinaryOp op) {
  switch (op) {
    case BinaryOp::Less: return BinaryOp::Greater;
    case BinaryOp::LessEqual: return BinaryOp::GreaterEqual;
    case BinaryOp::Greater: return BinaryOp::Less;
    case BinaryOp::GreaterEqual: return BinaryOp::LessEqual;
    default: return op;
  }
}

/// What a remainder never is: it is 0 to divisor - 1. "" if it may be so.
std::string never(BinaryOp op, const Polynomial& number, const Polynomial& divisor, const Context& cx) {
  const auto over = (number - divisor).constant(), value = number.constant();
  const bool is_over = over && *over >= 0, is_last = over && *over == -1, is_below = value && *value < 0;
  const std::string text = cx.text(number);
  switch (op) {
    case BinaryOp::Equal:
    case BinaryOp::NotEqual: return is_over || is_below ? text : "";
    case BinaryOp::Greater: return is_over || is_last ? "above " + text : "";
    case BinaryOp::GreaterEqual: return is_over ? text + " or more" : "";
    case BinaryOp::Less: return is_below || (value && *value == 0) ? "below " + text : "";
    case BinaryOp::LessEqual: return is_below ? text + " or less" : "";
    default: return "";
  }
}

void look_at_remainder(BinaryOp op, const ExprView& left, const ExprView& right, Span span, const Scope& scope) {
  const Context& cx = scope.cx;
  const auto* remainder = left.get<node::Host>();
  if (remainder == nullptr || remainder->op != host::Op::Mod || !right.type.value) return;
  const auto& divisor = cx.at(remainder->args[1]).type.value;
  if (!divisor || divisor->constant().value_or(1) <= 0) return;
  const std::string what = never(op, *right.type.value, *divisor, cx);
  if (what.empty()) return;
  scope.cx.report(diag::never_equal(span, cx.source_text(left.span), what)
                      .note("what a division by {} leaves is 0 to {}", cx.text(*divisor), cx.text(*divisor - 1)));
}

}  // namespace

void look_at_remainders(BinaryOp op, const ExprView& left, const ExprView& right, Span span, const Scope& scope) {
  look_at_remainder(op, left, right, span, scope);
  look_at_remainder(mirrored(op), right, left, span, scope);
}

}  // namespace ltr::check
