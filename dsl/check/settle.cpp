#include "dsl/check/settle.h"

#include <set>

#include "dsl/check/experiment/series.h"
#include "dsl/check/experiment/wired.h"
#include "dsl/check/library/library_call.h"

namespace ltr::check {

namespace {

/// A call with what `mode = auto` means of what it watches, in the calls among its arguments, too.
Expr with_mode(Expr expr, const SeriesOf& series, Program& program) {
  auto* call = expr.get<node::Call>();
  if (call == nullptr) return expr;
  for (node::NamedArg& arg : call->args) {
    if (program.exprs[arg.value].is<node::Call>())
      arg.value = program.exprs.add(with_mode(program.exprs[arg.value], series, program));
  }
  const auto watched = watched_series(*call, program);
  const auto at = mode_argument(*call, program);
  if (!watched || !at) return expr;
  Expr mode = program.exprs[call->args[*at].value];
  auto* word = mode.get<node::Symbol>();
  const auto one = series.find(watched->series);
  if (word->text != "auto" || one == series.end() || one->second.better.empty()) return expr;
  word->text = one->second.better;
  call->args[*at].value = program.exprs.add(std::move(mode));
  return expr;
}

}  // namespace

Program settle(Program checked) {
  for (Experiment& experiment : checked.experiments) {
    if (const auto batch = find_train_batch(checked, experiment)) {
      experiment.train_batch = batch->records;
      experiment.train_batch_span = batch->size.given;
    }
    const SeriesOf series = logged_series(checked, experiment);
    for (Expr& callback : experiment.callbacks) callback = with_mode(std::move(callback), series, checked);
    // A schedule belongs to its model; what tells its mode are logs of that model.
    for (Member& member : checked.models[experiment.model].members) {
      for (auto& [name, value] : member.settings) {
        if (value.type.kind == Kind::Schedule) value = with_mode(std::move(value), series, checked);
      }
      for (GroupSettings& group : member.groups) {
        for (auto& [name, value] : group.settings) {
          if (value.type.kind == Kind::Schedule) value = with_mode(std::move(value), series, checked);
        }
      }
    }
  }
  KnownDraws known;
  for (FnId fn = 0; fn < checked.fns.size(); ++fn) checked.fns[fn].draws_random = draws_random(checked, fn, known);
  return checked;
}

}  // namespace ltr::check
