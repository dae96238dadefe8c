#include "dsl/check/context.h"

namespace ltr::check {

namespace {

bool is_random_op(const Expr& expr) {
  static const std::set<std::string> kRandom = {
      "rand",          "randn",          "randint",       "normal",
      "uniform",       "bernoulli",      "sample",        "randperm",
      "dropout",       "dropout2d",      "random_affine", "trunc_normal",
      "orthogonal",    "xavier_uniform", "xavier_normal", "kaiming_uniform",
      "kaiming_normal", "random_crop",   "random_resized_crop", "random_flip",
      "random_vflip",   "random_rotation", "color_jitter",  "random_erasing"};
  if (expr.kind != ExprKind::Op) return false;
  if (expr.name == "attention") {
    // Its dropout is the sixth argument; a constant 0 draws nothing.
    return expr.args.size() > 5 &&
           !(expr.args[5].kind == ExprKind::FloatConst && expr.args[5].number == 0);
  }
  return kRandom.contains(expr.name);
}

bool expr_draws(const Program& program, const Expr& expr, std::set<uint32_t>& seen) {
  // What a block parameter holds is not known here.
  if (is_random_op(expr) || expr.kind == ExprKind::CallValue) return true;
  const bool calls = expr.kind == ExprKind::CallFn || expr.kind == ExprKind::CallMethod ||
                     expr.kind == ExprKind::ApplyList;
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
