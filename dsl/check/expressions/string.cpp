#include <algorithm>
#include <optional>
#include <string_view>

#include "dsl/check/expressions/declared_at.h"
#include "dsl/check/expressions/expressions.h"

namespace ltr::check {

bool is_printable(const Type& type) {
  return is_made_of(type,
                    {Kind::Error, Kind::None, Kind::Int, Kind::Float, Kind::Bool, Kind::Str, Kind::Path, Kind::OneOf,
                     Kind::Tensor, Kind::Texts, Kind::Range, Kind::List, Kind::Tuple, Kind::Record, Kind::Option});
}

namespace {

/// What is wrong with a format `[[fill]align][sign][#][0][width][.precision][type]` of a value of `type`; nothing if it is right.
std::optional<std::string> fault_of_format(std::string_view format, const Type& type) {
  const bool is_text = type.kind == Kind::Str || type.kind == Kind::Path;
  const bool is_real = type.kind == Kind::Float || (type.is_tensor() && is_floating(type.element));
  const bool is_truth = type.kind == Kind::Bool || (type.is_tensor() && type.element == Element::Bool);
  const auto take = [&](std::string_view any) {
    if (format.empty() || any.find(format[0]) == std::string_view::npos) return false;
    format.remove_prefix(1);
    return true;
  };
  const auto take_digits = [&] {
    bool is_number = false;
    while (take("0123456789")) is_number = true;
    return is_number;
  };
  constexpr std::string_view kAligns = "<>^";
  if (format.size() > 1 && kAligns.find(format[1]) != std::string_view::npos) format.remove_prefix(1);
  take(kAligns);
  const bool has_sign = take("+- "), is_other = take("#");
  if (is_text && (has_sign || is_other)) return "a text has no sign";
  take_digits();
  if (take(".")) {
    if (!take_digits()) return std::nullopt;  // no format at all, E0106
    if (!is_text && !is_real) return "only a float has digits behind `.`, `{x:.3f}`";
  }
  const std::string_view types = is_text ? "s" : is_real ? "aAeEfFgG" : is_truth ? "sbBcdoxX" : "bBcdoxX";
  take(types);
  if (format.empty()) return std::nullopt;
  return is_text   ? "a text takes a width and `s`, `{x:>12}`"
         : is_real ? "a float takes `f`, `e` or `g`, `{x:.3f}`"
                   : "an int takes `d`, `x`, `o` or `b`, `{n:5d}`";
}

}  // namespace

Expr check_string(const ast::Expr& expr, const ast::StrLiteral& literal, Scope& scope) {
  bool is_plain = true;
  for (const ast::StrPart& part : literal.parts) is_plain = is_plain && !part.value;
  if (is_plain) {
    std::string text;
    for (const ast::StrPart& part : literal.parts) text += part.text;
    return str_const(text, expr.span);
  }
  node::Interpolate joined;
  bool has_error = false;
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
      const std::string what = type.kind == Kind::Function
                                   ? "`" + scope.cx.source_text(value.span) + "` is a function: it"
                                   : "a value of type " + scope.cx.text(type);
      scope.cx.report(diag::wrong_type(
          value.span, what + (is_printable(type) ? " takes no format" : " cannot be written into a string")));
      value = error_at(value.span);
    } else if (const auto fault =
                   type.is_error() || part.format.empty() ? std::nullopt : fault_of_format(part.format, type)) {
      diagnostics::Diagnostic diagnostic =
          diag::wrong_type(value.span, "`" + part.format + "` is no format of a value of type " + scope.cx.text(type))
              .help("{}", *fault);
      label_declared(diagnostic, value, scope);
      scope.cx.report(std::move(diagnostic));
      value = error_at(value.span);
    }
    has_error = has_error || value.type.is_error();
    joined.parts.push_back({scope.cx.keep(std::move(value)), part.format});
  }
  if (has_error) return error_at(expr.span);
  return {Type::of(Kind::Str), expr.span, std::move(joined)};
}

}  // namespace ltr::check
