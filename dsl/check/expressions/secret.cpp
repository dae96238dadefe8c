#include "dsl/check/expressions/expressions.h"

namespace ltr::check {

// A secret is named where an experiment hands it to a setting that asks for one, and nowhere else:
// it could be printed, logged or saved.
Expr check_env(CallSite& site) {
  const Expr error = error_at(site.span);
  const bool is_name = site.given.size() == 1 && !site.given[0].name && site.given[0].value != nullptr;
  if (!is_name) {
    site.scope.cx.report(diag::wrong_argument(site.span, "`env` takes the name of a variable: `env(\"API_KEY\")`"));
    return error;
  }
  Expr name = check_given_as(site.given[0], Type::of(Kind::Str), site.scope, "the name");
  if (name.type.is_error()) return error;
  if (!name.is<node::StrConst>()) {
    site.scope.cx.report(diag::not_a_constant(name.span, "the name of a secret"));
    return error;
  }
  if (name.get<node::StrConst>()->text.empty()) {
    site.scope.cx.report(diag::wrong_argument(name.span, "`env` takes the name of a variable: `env(\"API_KEY\")`"));
    return error;
  }
  if (site.scope.place != Place::Experiment) {
    site.scope.cx.report(diag::secret_misplaced(site.span, "read here")
                             .help("only settings of an experiment that ask for a secret take one"));
    return error;
  }
  // It stays a name: the program that runs asks for the value.
  return Expr{
      Type::of(Kind::Secret), site.span,
      node::Call{.name = "env", .op = library::Id::Env, .args = {{"name", site.scope.cx.keep(std::move(name))}}}};
}

}  // namespace ltr::check
