#include <array>

#include "dsl/check/statements/statements.h"
#include "dsl/diagnostics/suggest.h"

namespace ltr::check {

namespace {

constexpr std::array kFirstWords = {
#define LTR_STATEMENT(Token, word) std::string_view(#word),
#include "dsl/ast/statement.def"
};

/// The name that an expression begins with, or null.
const ast::Name* first_name(const ast::Expr& expr) {
  if (const auto* name = expr.get<ast::NameRef>()) return &name->name;
  if (const auto* call = expr.get<ast::Call>()) return first_name(*call->callee);
  if (const auto* index = expr.get<ast::Index>()) return first_name(*index->base);
  if (const auto* binary = expr.get<ast::Binary>()) return first_name(*binary->left);
  return nullptr;
}

}  // namespace

bool report_misspelt_word(const ast::Expr& value, Scope& scope) {
  const ast::Name* name = first_name(value);
  if (name == nullptr || is_in_scope(name->text, scope)) return false;
  const auto meant = diagnostics::suggest(name->text, std::span(kFirstWords));
  if (!meant) return false;
  const auto other = diagnostics::suggest(name->text, scope.names());
  const auto distance = [&](const std::string& word) { return diagnostics::edit_distance(name->text, word); };
  if (other && distance(*other) < distance(*meant)) return false;
  diagnostics::Diagnostic diagnostic = diag::unknown_name(name->span, name->text);
  diagnostics::add_near(diagnostic, name->text, name->span, *meant);
  scope.cx.report(std::move(diagnostic));
  return true;
}

}  // namespace ltr::check
