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

/// Whether it takes away what a division leaves: `i - i % 2` is a multiple.
bool has_remainder(const ExprView& expr, const Program& program) {
  const auto* host = expr.get<node::Host>();
  return (host != nullptr && host->op == host::Op::Mod) ||
         any_child(expr, [&](ExprId child) { return has_remainder(program.exprs[child], program); });
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
