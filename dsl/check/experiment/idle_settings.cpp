// W0429: settings that say something of what does not happen.

#include <algorithm>

#include "dsl/check/experiment/wired.h"
#include "dsl/check/expressions/expressions.h"

namespace ltr::check {

namespace {

/// What a call of the library is given for a parameter; nothing where its default stands.
std::optional<ExprView> written_argument(const node::Call& call, const std::string& name, const Context& cx) {
  const auto found = std::ranges::find(call.args, name, &node::NamedArg::name);
  if (found == call.args.end()) return std::nullopt;
  const ExprView value = cx.at(found->value);
  return value.span.is_empty() ? std::nullopt : std::optional(value);
}

bool is_told(const Context& cx, Span place) { return is_reported(cx, diagnostics::Code::W0429, place); }

/// `nan_limit` counts batches that `nan = skip` leaves out.
void check_nan_limit(Context& cx, const Experiment& experiment) {
  const SettingValue* limit = find_setting(experiment.trainer, "nan_limit");
  const SettingValue* rule = find_setting(experiment.trainer, "nan");
  const std::string word = rule != nullptr ? text_of(rule->value) : "stop";
  if (limit == nullptr || word.empty() || word == "skip" || is_told(cx, limit->span)) return;
  cx.report(diag::idle_setting(limit->span, "nan_limit")
                .note("it is the most batches in a row that `nan = skip` leaves out")
                .help("say `nan = skip`, or take it away"));
}

void check_mode(Context& cx, const node::Call& checkpoint) {
  const auto mode = written_argument(checkpoint, "mode", cx);
  if (!mode || written_argument(checkpoint, "monitor", cx) || is_told(cx, mode->span)) return;
  cx.report(diag::idle_setting(mode->span, "mode")
                .note("without a `monitor` no checkpoint is better than another")
                .help("say what is watched: `monitor = val.loss`"));
}

void check_held(Context& cx, const node::Call& freeze) {
  const auto epoch = written_argument(freeze, "epoch", cx);
  const auto* number = epoch ? epoch->get<node::IntConst>() : nullptr;
  if (number == nullptr || number->value != 0 || is_told(cx, epoch->span)) return;
  cx.report(diag::idle_setting(epoch->span, "FreezeUntil")
                .note("epochs count from 0: what is held until epoch 0 is never held"));
}

/// Where training has to come to its end, nothing ends it early.
void check_stop(Context& cx, const Experiment& experiment, Span stop) {
  for (const auto& [least, most] : {std::pair("min_epochs", "epochs"), std::pair("min_steps", "steps")}) {
    const SettingValue* from = find_setting(experiment.trainer, least);
    const SettingValue* to = find_setting(experiment.trainer, most);
    if (from == nullptr || to == nullptr || is_told(cx, stop)) continue;
    const auto *low = from->value.get<node::IntConst>(), *high = to->value.get<node::IntConst>();
    if (low == nullptr || high == nullptr || low->value != high->value) continue;
    cx.report(diag::idle_setting(stop, "EarlyStop")
                  .label(from->span, "training goes on to its end")
                  .help("give `{}` fewer than `{}`", least, most));
  }
}

}  // namespace

void check_idle_settings(Context& cx, const Experiment& experiment) {
  check_nan_limit(cx, experiment);
  for (const Expr& one : experiment.callbacks) {
    const auto* call = one.get<node::Call>();
    if (call == nullptr) continue;
    if (call->op == library::Id::Checkpoint) check_mode(cx, *call);
    if (call->op == library::Id::FreezeUntil) check_held(cx, *call);
    if (call->op == library::Id::EarlyStop) check_stop(cx, experiment, one.span);
  }
}

}  // namespace ltr::check
