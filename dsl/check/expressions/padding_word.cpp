// `padding = "same"` of a convolution.

#include "dsl/check/expressions/call.h"

namespace ltr::check {

namespace {

/// How many axes sizes of this type are for.
size_t axes_of(const Type& sizes) { return sizes.kind == Kind::Tuple ? sizes.fields.size() : 1; }

Expr of_axis(const Expr& sizes, size_t axis, Context& cx) {
  if (sizes.type.kind != Kind::Tuple) return sizes;
  if (const auto* tuple = sizes.get<node::Tuple>()) return cx.at(tuple->elements[axis]);
  return {sizes.type.fields[axis].type, sizes.span, node::TupleElement{cx.keep(sizes), int64_t(axis)}};
}

Expr tuple_of(std::vector<Expr> parts, Span span, Context& cx) {
  Type type = Type::of(Kind::Tuple);
  for (const Expr& part : parts) type.fields.push_back({"", part.type});
  return {std::move(type), span, node::Tuple{cx.keep(std::move(parts))}};
}

/// What one axis lacks in front and behind: dilation * (kernel - 1) in all, an odd one behind.
Expr around_axis(const Expr& kernel, const Expr& dilation, Span span, Scope& scope) {
  const auto combined = [&](ast::BinaryOp op, Expr left, Expr right) {
    return apply_operator(op, span, std::move(left), std::move(right), span, scope);
  };
  const Expr both =
      combined(ast::BinaryOp::Multiply, dilation, combined(ast::BinaryOp::Subtract, kernel, int_const(1, span)));
  Type half = Type::host_int();
  if (both.type.value) half.value = scope.cx.program.atoms.floor(*both.type.value, 2);
  const Expr front =
      host_op(host::Op::FloorDiv, {scope.cx.keep(both), scope.cx.keep(int_const(2, span))}, std::move(half), span);
  return tuple_of({front, combined(ast::BinaryOp::Subtract, both, front)}, span, scope.cx);
}

}  // namespace

bool is_padding_word(const ParamInfo& param, const Given& given) {
  const auto* text = given.value != nullptr ? given.value->get<ast::StrLiteral>() : nullptr;
  return param.padding && text != nullptr && text->parts.size() == 1 && text->parts[0].text == "same";
}

Expr padding_of_word(const PaddingOf& padding, const std::vector<Expr>& args, Span span, Scope& scope) {
  Context& cx = scope.cx;
  const Expr &kernel = args[padding.kernel], &stride = args[padding.stride], &dilation = args[padding.dilation];
  const size_t errors = cx.sink->error_count();
  std::vector<Expr> pairs;
  for (size_t axis = 0; axis < axes_of(kernel.type); ++axis) {
    const Expr step = of_axis(stride, axis, cx);
    const auto written = step.type.value ? step.type.value->constant() : std::nullopt;
    if (written && *written != 1) {
      diagnostics::Diagnostic diagnostic =
          diag::where_not_satisfied(span, "stride == 1", "it is given " + std::to_string(*written));
      if (!stride.span.is_empty()) diagnostic.label(stride.span, "given here");
      cx.report(std::move(diagnostic.help("with another stride no sizes are kept: `padding` is a number there")));
      return error_at(span);
    }
    Requirement keeps_sizes;
    keeps_sizes.left = step.type.value ? *step.type.value : cx.program.atoms.unknown();
    keeps_sizes.right = 1;
    keeps_sizes.text = "stride == 1";
    keeps_sizes.origin = span;
    keeps_sizes.is_where = true;
    require(std::move(keeps_sizes), span, scope);
    if (cx.sink->error_count() != errors) return error_at(span);
    pairs.push_back(around_axis(of_axis(kernel, axis, cx), of_axis(dilation, axis, cx), span, scope));
  }
  return pairs.size() == 1 ? pairs[0] : tuple_of(std::move(pairs), span, cx);
}

}  // namespace ltr::check
