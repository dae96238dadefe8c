// `==`, `!=` and `in`: both sides become what they have in common, or there is no answer.

#include <algorithm>

#include "dsl/check/expressions/declared_at.h"
#include "dsl/check/expressions/expressions.h"

namespace ltr::check {

namespace {

bool is_text(const Type& type) { return type.kind == Kind::Str || type.kind == Kind::Path || type.kind == Kind::OneOf; }

bool is_comparable(const Type& type) {
  const bool is_structure =
      type.kind == Kind::List || type.kind == Kind::Tuple || type.kind == Kind::Record || type.kind == Kind::Option;
  if (!is_structure) return type.is_host_number() || is_text(type) || type.is_tensor() || type.kind == Kind::None;
  if (type.kind == Kind::Option && type.fields[0].type.is_tensor()) return false;
  return std::all_of(type.fields.begin(), type.fields.end(),
                     [](const TypeField& field) { return is_comparable(field.type); });
}

/// Paths and choices are compared as texts, the shape of a `float[...]` as a list of any length.
Type as_compared(Type type) {
  if (is_text(type)) return Type::of(Kind::Str);
  for (TypeField& field : type.fields) field.type = as_compared(std::move(field.type));
  if (type.kind == Kind::List && type.value && !type.value->constant()) type.uniform = true;
  return type;
}

std::optional<Type> common_type(const Type& left, const Type& right, Context& cx) {
  if (!is_comparable(left) || !is_comparable(right)) return std::nullopt;
  return merge(as_compared(left), as_compared(right), cx);
}

Expr taken_as(Expr value, const Type& common, Context& cx) {
  if (value.type == common || is_text(value.type)) return value;
  if (value.type.kind == Kind::Int && common.kind == Kind::Int) return value;
  const Span span = value.span;
  return {common, span, node::Convert{cx.keep(std::move(value))}};
}

}  // namespace

namespace {

/// `value == none`, which asks whether an option holds nothing: E0313 of what always holds something.
Expr compare_with_none(Expr value, Expr none, Span span, Scope& scope) {
  Context& cx = scope.cx;
  if (value.type.kind != Kind::Option) {
    const bool is_none = value.type.kind == Kind::None;
    diagnostics::Diagnostic diagnostic = diag::wrong_type(
        is_none ? span : value.span, is_none ? "`none` is always `none`" : cx.text(value.type) + " is never `none`");
    if (is_none)
      diagnostic.help("compare an option with it, such as a param `x: option[int] = none`");
    else
      diagnostic.help("only an option can be: declare the type as `option[…]`, or leave the comparison out");
    label_declared(diagnostic, value, scope);
    cx.report(std::move(diagnostic));
    return error_at(span);
  }
  return {Type::of(Kind::Bool), span, node::Equal{cx.keep(std::move(value)), cx.keep(std::move(none))}};
}

}  // namespace

std::optional<Expr> compare_wholes(Expr& left, Expr& right, Span span, Scope& scope) {
  if (right.type.kind == Kind::None) return compare_with_none(std::move(left), std::move(right), span, scope);
  if (left.type.kind == Kind::None) return compare_with_none(std::move(right), std::move(left), span, scope);
  if (left.type.kind != Kind::Weights || right.type.kind != Kind::Weights) {
    const auto common = common_type(left.type, right.type, scope.cx);
    if (!common) return std::nullopt;
    left = taken_as(std::move(left), *common, scope.cx);
    right = taken_as(std::move(right), *common, scope.cx);
  }
  const ExprId first = scope.cx.keep(std::move(left)), second = scope.cx.keep(std::move(right));
  return Expr{Type::of(Kind::Bool), span, node::Equal{first, second}};
}

Expr check_in(Expr left, Expr right, Span span, Scope& scope) {
  Context& cx = scope.cx;
  if (right.type.kind != Kind::Range && right.type.kind != Kind::List) {
    cx.report(
        diag::wrong_type(right.span, "`in` looks into a list or a range `a .. b`, not into " + cx.text(right.type)));
    return error_at(span);
  }
  const bool is_number = left.type.kind == Kind::Int || left.type.kind == Kind::Float;
  std::optional<Type> common = left.type;
  if (right.type.kind == Kind::Range) {
    if (!is_number) common.reset();
  } else {
    for (const TypeField& field : right.type.fields)
      if (common) common = common_type(*common, field.type, cx);
    if (right.type.fields.empty() && !is_comparable(left.type)) common.reset();
  }
  if (!common) {
    cx.report(diag::wrong_type(span, "cannot look for " + cx.text(left.type) + " in " + cx.text(right.type))
                  .label(left.span, "{}", cx.text(left.type))
                  .label(right.span, "{}", cx.text(right.type)));
    return error_at(span);
  }
  if (auto* list = right.get<node::List>()) {
    for (ExprId& element : list->elements) element = cx.keep(taken_as(cx.at(element), *common, cx));
  } else if (right.type.kind == Kind::List) {
    Type list = right.type;
    if (list.fields.empty()) {
      list.uniform = true;
      list.fields.emplace_back();
    }
    for (TypeField& field : list.fields) field.type = *common;
    right = taken_as(std::move(right), list, cx);
  }
  if (right.type.kind == Kind::List) left = taken_as(std::move(left), *common, cx);
  return {Type::of(Kind::Bool), span, node::In{cx.keep(std::move(left)), cx.keep(std::move(right))}};
}

}  // namespace ltr::check
