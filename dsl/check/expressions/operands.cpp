#include "dsl/check/expressions/operands.h"

#include "dsl/diagnostics/suggest.h"

namespace ltr::check {

bool divides_by_zero(const Expr& right, Span span, Scope& scope) {
  if (!right.type.value || right.type.value->constant() != 0) return false;
  scope.cx.report(diag::out_of_range(span, "division by zero"));
  return true;
}

bool report_function_operand(const Expr& left, const Expr& right, Scope& scope) {
  const Expr* function = left.type.kind == Kind::Function ? &left : &right;
  const bool is_text =
      left.type.kind == Kind::Str || right.type.kind == Kind::Str;  // the name of a function, in quotes
  if (function->type.kind != Kind::Function || is_text) return false;
  const std::string name = scope.cx.source_text(function->span);
  diagnostics::Diagnostic diagnostic =
      diag::wrong_type(function->span, "`" + name + "` is a function, and is not called");
  if (const auto near = diagnostics::suggest(name, scope.near_names())) diagnostic.help("did you mean `{}`?", *near);
  scope.cx.report(std::move(diagnostic));
  return true;
}

std::string as_base(const std::string& code) {
  int depth = 0;
  const bool has_parts =
      code.starts_with('-') || std::ranges::any_of(code, [&](char one) {
        depth += one == '(' || one == '[' || one == '{' ? 1 : one == ')' || one == ']' || one == '}' ? -1 : 0;
        return depth == 0 && one == ' ';
      });
  return has_parts ? "(" + code + ")" : code;
}

}  // namespace ltr::check
