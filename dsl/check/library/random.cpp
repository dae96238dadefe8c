#include <algorithm>

#include "dsl/check/library/library_call.h"

namespace ltr::check {

namespace {

bool is_random_op(const Expr& expr) {
  const library::Function& function = library::info(expr.op);
  if (function.draws == library::Draws::Never) return false;
  if (function.rate_at == 0) return true;
  const bool is_given = expr.args.size() > function.rate_at;
  const Expr* rate = is_given ? &expr.args[function.rate_at] : nullptr;
  return rate != nullptr && !(rate->kind == ExprKind::FloatConst && rate->number == 0);
}

bool expr_draws(const Program& program, const Expr& expr, std::set<uint32_t>& seen) {
  // What a block parameter holds is not known here.
  if (is_random_op(expr) || expr.kind == ExprKind::CallValue) return true;
  const bool calls = expr.kind == ExprKind::CallFn || expr.kind == ExprKind::CallMethod;
  if (calls && expr.fn != 0 && seen.insert(expr.fn).second &&
      draws_random(program, program.fns[expr.fn].body, seen))
    return true;
  return draws_random(program, expr.body, seen) ||
         std::any_of(expr.args.begin(), expr.args.end(),
                     [&](const Expr& arg) { return expr_draws(program, arg, seen); });
}

}  // namespace

void check_draws_nothing(const Expr& expr, const char* what, Context& cx) {
  std::set<uint32_t> seen;
  if (expr_draws(cx.program, expr, seen))
    cx.report(diag::wrong_place(expr.span, std::string(what) + " draws no random numbers"));
}

bool draws_random(const Program& program, const Body& body, std::set<uint32_t>& seen) {
  for (const Stmt& stmt : body) {
    for (const Expr& value : stmt.values) {
      if (expr_draws(program, value, seen)) return true;
    }
    for (const Body& inner : stmt.bodies) {
      if (draws_random(program, inner, seen)) return true;
    }
  }
  return false;
}

}  // namespace ltr::check
