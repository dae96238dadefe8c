#include <algorithm>

#include "dsl/check/expressions/expressions.h"

namespace ltr::check {

bool is_printable(const Type& type) {
  return is_made_of(type,
                    {Kind::Error, Kind::None, Kind::Int, Kind::Float, Kind::Bool, Kind::Str, Kind::Path, Kind::OneOf,
                     Kind::Tensor, Kind::Texts, Kind::Range, Kind::List, Kind::Tuple, Kind::Record, Kind::Option});
}

Expr check_string(const ast::Expr& expr, const ast::StrLiteral& literal, Scope& scope) {
  bool is_plain = true;
  for (const ast::StrPart& part : literal.parts) is_plain = is_plain && !part.value;
  if (is_plain) {
    std::string text;
    for (const ast::StrPart& part : literal.parts) text += part.text;
    return str_const(text, expr.span);
  }
  node::Interpolate joined;
  for (const ast::StrPart& part : literal.parts) {
    if (!part.value) {
      if (part.text.empty()) continue;
      joined.parts.push_back({scope.cx.keep(str_const(part.text, part.span)), ""});
      continue;
    }
    Expr value = check_expr(**part.value, scope);
    const Type& type = value.type;
    const bool takes_format = type.is_error() || type.is_host_number() || type.is_tensor() || type.kind == Kind::Str ||
                              type.kind == Kind::Path;
    if (!is_printable(type) || (!takes_format && !part.format.empty())) {
      scope.cx.report(diag::wrong_type(
          value.span, "a value of type " + scope.cx.text(type) +
                          (is_printable(type) ? " takes no format" : " cannot be written into a string")));
      value = error_at(value.span);
    }
    joined.parts.push_back({scope.cx.keep(std::move(value)), part.format});
  }
  return {Type::of(Kind::Str), expr.span, std::move(joined)};
}

}  // namespace ltr::check
