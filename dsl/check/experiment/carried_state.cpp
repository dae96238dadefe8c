// A model that goes on from the state of the batch before, as in back-propagation through time that is cut at batches, wants its batches
// in their order: W0503 does not speak to it.

#include <algorithm>
#include <set>

#include "dsl/check/experiment/wired.h"
#include "dsl/check/walk.h"
#include "runtime/tables/roles.h"

namespace ltr::check {

namespace {

void add_set(const Body& body, std::set<std::string>& names) {
  for (const Stmt& line : body) {
    if (const auto* set = line.get<stmt::SetMember>()) names.insert(set->name);
    for_each_body(line, [&](const Body& inner) { add_set(inner, names); });
  }
}

bool reads_any(const ExprView& expr, const std::set<std::string>& names, const Program& program) {
  const auto* member = expr.get<node::Member>();
  if (member != nullptr && names.contains(member->name) && program.exprs[member->object].is<node::Self>()) return true;
  return any_child(expr, [&](ExprId part) { return reads_any(program.exprs[part], names, program); });
}

/// Whether a step begins a recurrent layer with a buffer that it sets itself.
bool carries_state(const Fn& step, const Program& program) {
  std::set<std::string> buffers;
  add_set(step.body, buffers);
  bool found = false;
  for_each_expr(step.body, program, [&](const ExprView& expr) {
    const auto* call = expr.get<node::CallMethod>();
    if (call == nullptr || program.fns[call->fn].name != "from_state") return;
    found = found || std::ranges::any_of(
                         call->args, [&](ExprId given) { return reads_any(program.exprs[given], buffers, program); });
  });
  return found;
}

}  // namespace

void take_order_as_meant(Context& cx, const Experiment& experiment) {
  const auto step = std::ranges::find(experiment.steps, kTrainRole, &StepBinding::role);
  if (step == experiment.steps.end() || !carries_state(cx.program.fns[step->fn], cx.program)) return;
  for (const StreamDecl& stream : cx.program.datas[experiment.data].streams) {
    cx.sink->withdraw([&](const diagnostics::Diagnostic& one) {
      return one.code == diagnostics::Code::W0503 && one.span == stream.span;
    });
  }
}

}  // namespace ltr::check
