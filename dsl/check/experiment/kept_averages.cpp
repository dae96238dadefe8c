// W0427 of an `ema_update` whose decay an experiment gives: by a param of the model or of a callback, or by an hparam.

#include <algorithm>

#include "dsl/check/experiment/wired.h"
#include "dsl/check/library/library_call.h"
#include "dsl/check/walk.h"

namespace ltr::check {

namespace {

/// What a function computes itself is not known before the run, and its locals are no params of the object.
bool has_local(const ExprView& expr, const Program& program) {
  bool is_found = expr.is<node::Local>();
  for_each_child(expr, [&](ExprId child) { is_found = is_found || has_local(program.exprs[child], program); });
  return is_found;
}

struct Averages {
  Context& cx;
  const Experiment& experiment;

  void look_at(const Object& object, const ExprIds& arguments) {
    ExprIds decays;
    for (const FnId id : object.fns) {
      for_each_expr(cx.program.fns[id].body, cx.program, [&](const ExprView& expr) {
        const auto* op = expr.get<node::Op>();
        if (op == nullptr || op->op != library::Id::EmaUpdate || op->args.size() < 3) return;
        decays.push_back(op->args[2]);
      });
    }
    for (const ExprId id : decays) {
      // What the code says itself is told where it is read.
      const Span written = cx.at(id).span;
      if (has_local(cx.at(id), cx.program) || is_reported(cx, diagnostics::Code::W0427, written)) continue;
      const Wired wired = wire(cx.at(id), object, arguments, experiment, cx.program);
      const auto decay = evaluate(wired.expr, cx.program);
      const Span place = wired.expr.span.is_empty() ? written : wired.expr.span;
      if (!decay || is_reported(cx, diagnostics::Code::W0427, place)) continue;
      const bool is_own = place == written;
      check_kept(decay->real, place, "the target", "the source", cx, is_own ? wired.given : written,
                 is_own ? "given here" : "it is this decay");
    }
  }
};

}  // namespace

void check_kept_averages(Context& cx) {
  for (const Experiment& experiment : cx.program.experiments) {
    Averages averages{cx, experiment};
    // What is given in each other's place is one mistake.
    const bool is_crossed = std::ranges::any_of(experiment.model_arguments, [&](ExprId id) {
      return is_reported(cx, diagnostics::Code::W0312, cx.at(id).span);
    });
    if (experiment.model < cx.program.models.size() && !is_crossed)
      averages.look_at(cx.program.models[experiment.model], experiment.model_arguments);
    for (const Expr& one : experiment.callbacks) {
      const auto* call = one.get<node::Call>();
      if (call == nullptr || call->op != library::Id::None) continue;
      const auto callback = std::ranges::find(cx.program.callbacks, call->name, &Object::name);
      if (callback == cx.program.callbacks.end()) continue;
      ExprIds arguments;
      for (const Local& param : callback->params) {
        const auto given = std::ranges::find(call->args, param.name, &node::NamedArg::name);
        if (given == call->args.end()) break;
        arguments.push_back(given->value);
      }
      averages.look_at(*callback, arguments);
    }
  }
}

}  // namespace ltr::check
