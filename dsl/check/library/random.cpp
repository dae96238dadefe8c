#include "dsl/check/library/library_call.h"
#include "dsl/check/walk.h"

namespace ltr::check {

namespace {

bool is_random_op(const node::Op& op, const Program& program) {
  const library::Function& function = library::info(op.op);
  if (function.draws == library::Draws::Never) return false;
  if (function.rate_at == 0) return true;
  if (op.args.size() <= function.rate_at) return false;
  const auto* rate = program.exprs[op.args[function.rate_at]].get<node::FloatConst>();
  return rate == nullptr || rate->value != 0;
}

bool body_draws(const Program& program, const Body& body, KnownDraws& known) {
  bool result = false;
  for (const Stmt& stmt : body) {
    for_each_child(stmt, [&](ExprId child) { result = result || draws_random(program, program.exprs[child], known); });
    for_each_body(stmt, [&](const Body& inner) { result = result || body_draws(program, inner, known); });
  }
  return result;
}

}  // namespace

bool draws_random(const Program& program, const ExprView& expr, KnownDraws& known) {
  const auto fn_draws = [&](FnId fn) { return fn != 0 && draws_random(program, fn, known); };
  if (const auto* op = expr.get<node::Op>(); op != nullptr && is_random_op(*op, program)) return true;
  // What a block parameter holds is not known here.
  if (expr.is<node::CallValue>()) return true;
  if (const auto* call = expr.get<node::CallFn>(); call != nullptr && fn_draws(call->fn)) return true;
  if (const auto* call = expr.get<node::CallMethod>(); call != nullptr && fn_draws(call->fn)) return true;
  bool result = any_child(expr, [&](ExprId child) { return draws_random(program, program.exprs[child], known); });
  for_each_body(expr, [&](const Body& body) { result = result || body_draws(program, body, known); });
  return result;
}

void check_draws_nothing(const ExprView& expr, const char* what, Context& cx) {
  KnownDraws known;
  if (draws_random(cx.program, expr, known))
    cx.report(diag::wrong_place(expr.span, std::string(what) + " draws no random numbers"));
}

bool check_drawn_once(const ExprView& given, const std::string& param, Context& cx) {
  KnownDraws known;
  if (!draws_random(cx.program, given, known)) return true;
  cx.report(diag::wrong_place(given.span,
                              "`" + param + "` draws random numbers, and a default that uses it would draw others")
                .help("give what is drawn a name first: `drawn = {}`", cx.source_text(given.span)));
  return false;
}

bool draws_random(const Program& program, FnId fn, KnownDraws& known) {
  // Nothing calls itself; where that was an error, the first round says no.
  const auto [place, is_new] = known.try_emplace(fn, false);
  if (!is_new) return place->second;
  return known[fn] = body_draws(program, program.fns[fn].body, known);
}

}  // namespace ltr::check
