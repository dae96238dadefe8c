#include "dsl/check/settle.h"

#include <set>

#include "dsl/check/experiment/series.h"
#include "dsl/check/experiment/wired.h"
#include "dsl/check/library/library_call.h"

namespace ltr::check {

namespace {

Expr with_mode(Expr call, const SeriesOf& series) {
  for (Expr& arg : call.args) {
    if (arg.kind == ExprKind::Call) arg = with_mode(std::move(arg), series);
  }
  const Expr* watched = watched_series(call);
  const auto mode = mode_argument(call);
  if (watched == nullptr || !mode || call.args[*mode].name != "auto") return call;
  const auto one = series.find(watched->name);
  if (one != series.end() && !one->second.better.empty()) call.args[*mode].name = one->second.better;
  return call;
}

}  // namespace

Program settle(Program checked) {
  for (Experiment& experiment : checked.experiments) {
    if (const auto batch = find_train_batch(checked, experiment)) {
      experiment.train_batch = batch->records;
      experiment.train_batch_span = batch->size.given;
    }
    const SeriesOf series = logged_series(checked, experiment);
    for (Expr& callback : experiment.callbacks)
      callback = with_mode(std::move(callback), series);
    // A schedule belongs to its model; what tells its mode are logs of that model.
    for (Member& member : checked.models[experiment.model].members) {
      for (auto& [name, value] : member.settings) {
        if (name == "schedule") value = with_mode(std::move(value), series);
      }
    }
  }
  for (Fn& fn : checked.fns) {
    std::set<uint32_t> seen;
    fn.draws_random = draws_random(checked, fn.body, seen);
  }
  return checked;
}

}  // namespace ltr::check
