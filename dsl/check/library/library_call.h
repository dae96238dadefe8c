#pragma once

// Calls of library functions, whose types follow rules of their own.

#include "dsl/check/expressions/expressions.h"

namespace ltr::check {

Expr call_op(const FnInfo& op, CallSite& site);
/// A call of an op whose signature alone gives the type of the result.
Expr call_by_signature(const FnInfo& op, CallSite& site);
/// The arguments of an op in declared order, defaults filled in, and what it requires of them; unset where one is wrong.
std::optional<std::vector<Expr>> op_arguments(const FnInfo& op, CallSite& site, Binding& binding);
/// A loss with `reduction = none`: a call of the function `_NAME_each` that the library has beside it; nothing of other calls.
std::optional<Expr> call_for_each(const Symbol& symbol, CallSite& site);
/// Words that are functions in some places only: `metric(val.loss)`, `stop(…)`, `close(a, b, tol)`,
/// `floor(a / b)`.
std::optional<Expr> check_builtin(const std::string& name, CallSite& site);
/// W0427: what an average keeps of itself, `target`, each time. `other`: where it is used, or what it is computed from stands, as
/// `label` says.
void check_kept(double decay, Span span, const char* target, const char* source, Context& cx, Span other = {},
                const char* label = "");
/// A stream source or stage, typed by its rule; nothing if `name` is neither.
std::optional<Expr> check_stream_call(const std::string& name, CallSite& site);
/// A method of text, or of a list of texts; nothing if `name` is none.
std::optional<Expr> check_text_call(const std::string& name, CallSite& site);
/// Names of the methods that a value of this type has as a text.
std::vector<std::string> text_methods(const Type& type);
/// `s[a .. b]`.
Expr slice_text(Expr text, const ast::Index& index, Span span, Scope& scope);
/// A call by the rule that its row of the library's table names.
Expr call_by_rule(const FnInfo& op, CallSite& site);
/// Reports E0322 if a value that is fixed before the run draws random numbers.
void check_draws_nothing(const ExprView& expr, const char* what, Context& cx);
/// E0322 of what is given for `param`, which a default computes once more: it would draw other numbers.
bool check_drawn_once(const ExprView& given, const std::string& param, Context& cx);
/// What is known of functions already, so that each is looked into once.
using KnownDraws = std::map<FnId, bool>;
/// Whether `fn` draws random numbers, itself or by what it calls.
bool draws_random(const Program& program, FnId fn, KnownDraws& known);
/// The same of an expression.
bool draws_random(const Program& program, const ExprView& expr, KnownDraws& known);

}  // namespace ltr::check
