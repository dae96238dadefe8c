#include <set>

#include "dsl/check/expressions/declared_at.h"
#include "dsl/check/expressions/operands.h"
#include "dsl/check/library/library_call.h"
#include "dsl/check/library/shape_rules/rules.h"

namespace ltr::check {

namespace {

/// E0309 if a class stands twice among those that are written.
bool has_twice(const ast::Expr& classes, Scope& scope) {
  const auto* list = classes.get<ast::List>();
  std::set<std::string> seen;
  for (const ast::Expr& one : list != nullptr ? list->elements : std::vector<ast::Expr>()) {
    const std::string text = scope.cx.source_text(one.span);
    if (one.get<ast::StrLiteral>() == nullptr || seen.insert(text).second) continue;
    scope.cx.report(diag::wrong_argument(one.span, "the class " + text + " stands twice: its number is the first"));
    return true;
  }
  return false;
}

}  // namespace

Expr rule_normalize(const FnInfo& op, CallSite& site) {
  Expr call = call_by_signature(op, site);
  if (const auto* normalize = call.get<node::Op>()) report_byte_means(*normalize, site.scope);
  return call;
}

/// Of a host option the result is the host value; of tensors the signature says it all.
Expr rule_or_else(const FnInfo& op, CallSite& site) {
  Scope& scope = site.scope;
  const bool is_plain = site.given.size() == 2 && !site.given[0].name && !site.given[1].name;
  if (!is_plain) return call_by_signature(op, site);
  site.given[0].checked = check_given(site.given[0], scope);
  const Type option = site.given[0].checked->type;
  if (option.is_error()) return error_at(site.span);
  const Type inner = option.kind == Kind::Option ? option.fields[0].type : option;
  if (inner.is_tensor() || option.kind == Kind::None) return call_by_signature(op, site);
  if (option.kind != Kind::Option) {
    diagnostics::Diagnostic diagnostic = diag::wrong_argument(
        site.given[0].span, "`or_else` takes an option, and " + scope.cx.text(option) + " is never none");
    label_declared(diagnostic, *site.given[0].checked, scope);
    scope.cx.report(std::move(diagnostic));
    return error_at(site.span);
  }
  Expr other = check_given_as(site.given[1], inner, scope, "the other value");
  if (other.type.is_error()) return error_at(site.span);
  Type type = inner;
  type.value.reset();
  return typed_call(op, std::move(type), site, {std::move(*site.given[0].checked), std::move(other)});
}

/// `missing` is for what may be missing.
Expr rule_class_of(const FnInfo& op, CallSite& site) {
  Scope& scope = site.scope;
  if (!site.given.empty() && !site.given[0].name) {
    site.given[0].checked = check_given(site.given[0], scope);
    const Kind kind = site.given[0].checked->type.kind;
    for (const Given& given : site.given) {
      if (!given.name || given.name->text != "missing" || (kind != Kind::Str && kind != Kind::Path)) continue;
      scope.cx.report(
          diag::wrong_argument(given.name->span, "`missing` is for an option[str], and a str is never missing")
              .help("`other = k` is the class of texts that are not among the classes"));
      return error_at(site.span);
    }
  }
  if (site.given.size() > 1 && site.given[1].value != nullptr && has_twice(*site.given[1].value, scope))
    return error_at(site.span);
  return call_by_signature(op, site);
}

}  // namespace ltr::check
