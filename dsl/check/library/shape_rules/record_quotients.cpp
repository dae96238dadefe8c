#include "dsl/check/library/shape_rules/streams.h"
#include "dsl/check/scope/reported.h"
#include "dsl/check/walk.h"

namespace ltr::check {

namespace {

/// Whether a value is of the record that a function is handed.
bool is_of_record(const ExprView& expr, const Fn& fn, const Program& program) {
  const auto* local = expr.get<node::Local>();
  if (local != nullptr) return local->local < fn.param_count;
  return any_child(expr, [&](ExprId child) { return is_of_record(program.exprs[child], fn, program); });
}

bool has(host::Op op, const ExprView& expr, const Program& program) {
  const auto* host = expr.get<node::Host>();
  return (host != nullptr && host->op == op) ||
         any_child(expr, [&](ExprId child) { return has(op, program.exprs[child], program); });
}

/// Whether it takes away what a division leaves: `i - i % 2` is a multiple, and `2 * i % 8` is one of 2. The rest of what nobody
/// prepared, `i % 7`, is none.
bool has_remainder(const ExprView& expr, const Program& program) {
  const auto* rest = expr.get<node::Host>();
  if (rest == nullptr || rest->op != host::Op::Mod) return has(host::Op::Mod, expr, program);
  const ExprView& whole = program.exprs[rest->args[0]];
  return has(host::Op::Mod, whole, program) || has(host::Op::Mul, whole, program);
}

}  // namespace

void warn_of_quotients(const FnInfo& map, Scope& scope) {
  Context& cx = scope.cx;
  const Fn& fn = cx.program.fns[map.index];
  for_each_expr(fn.body, cx.program, [&](const ExprView& expr) {
    const auto* quotient = expr.get<node::Host>();
    if (quotient == nullptr || quotient->op != host::Op::Div || expr.type.kind != Kind::Int) return;
    const ExprView divided = cx.at(quotient->args[0]);
    if (is_of_record(divided, fn, cx.program) && !has_remainder(divided, cx.program) &&
        !is_reported(cx, diagnostics::Code::W0301, expr.span))
      report_quotient(expr, scope);
  });
}

}  // namespace ltr::check
