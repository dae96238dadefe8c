// Settings of a trainer that only one of can hold.

#include <algorithm>
#include <cmath>

#include "dsl/check/experiment/series.h"
#include "dsl/check/experiment/training_length.h"
#include "dsl/check/experiment/wired.h"
#include "dsl/check/expressions/expressions.h"

namespace ltr::check {

namespace {

/// `global_batch` says how many batches an update takes, too.
void check_window_settings(Context& cx, const Experiment& experiment) {
  const SettingValue* global = find_setting(experiment.trainer, "global_batch");
  const SettingValue* accumulate = find_setting(experiment.trainer, "accumulate");
  if (global == nullptr || accumulate == nullptr || global->value.is<node::NoneConst>()) return;
  const auto one = evaluate(accumulate->value, cx.program);
  if (one && one->whole == 1) return;
  if (is_reported(cx, diagnostics::Code::E0309, accumulate->value.span)) return;
  cx.report(diag::wrong_argument(accumulate->value.span, "`accumulate` follows from `global_batch`")
                .label(global->span, "which says how many records an update takes")
                .help("take one of them away"));
}

/// Training that ends before it may stop early never does.
void check_least(Context& cx, const Experiment& experiment, const char* least, const char* most) {
  const SettingValue* from = find_setting(experiment.trainer, least);
  const SettingValue* to = find_setting(experiment.trainer, most);
  if (from == nullptr || to == nullptr) return;
  const Object none;
  const auto number = [&](const SettingValue& setting) {
    return evaluate(wire(setting.value, none, {}, experiment, cx.program).expr, cx.program);
  };
  const auto low = number(*from), high = number(*to);
  if (!low || !high || low->whole <= high->whole) return;
  if (is_reported(cx, diagnostics::Code::E0325, from->value.span)) return;
  cx.report(diag::out_of_range(from->value.span, std::string("`") + least + "` is more than `" + most + "`")
                .label(to->value.span, "training ends here"));
}

/// Timing chooses convolutions, which two runs of the same bits exclude.
void check_equal_runs(Context& cx, const Experiment& experiment) {
  const SettingValue* timed = find_setting(experiment.trainer, "benchmark");
  const SettingValue* equal = find_setting(experiment.trainer, "deterministic");
  const auto is_true = [](const SettingValue* setting) {
    const auto* flag = setting != nullptr ? setting->value.get<node::BoolConst>() : nullptr;
    return flag != nullptr && flag->value;
  };
  // `deterministic` is true unless something else is said.
  if (!is_true(timed) || (equal != nullptr && !is_true(equal))) return;
  if (is_reported(cx, diagnostics::Code::E0309, timed->value.span)) return;
  diagnostics::Diagnostic diagnostic = diag::wrong_argument(
      timed->value.span, "`benchmark` chooses by timing, so two runs may differ, which `deterministic` excludes");
  if (equal != nullptr) diagnostic.label(equal->span, "here");
  cx.report(std::move(diagnostic.help("`deterministic = false`, or leave `benchmark` out")));
}

/// What the program itself says of a setting; nothing if it is computed, or left out.
template <class Node>
const Node* find_constant(const Experiment& experiment, const std::string& name) {
  const SettingValue* setting = find_setting(experiment.trainer, name);
  return setting != nullptr ? setting->value.get<Node>() : nullptr;
}

/// W0410: `at`, so many epochs or steps, lies behind the last one.
void check_reached(Context& cx, const TrainingLength& training, const ExprView& at, double count, host::Measure measure,
                   const std::string& what) {
  // An hparam may be given a larger number.
  const std::optional<int64_t> last = training.is_written ? training.most_in(measure) : std::nullopt;
  if (!last || count <= double(*last) || is_endless(cx) || is_reported(cx, diagnostics::Code::W0410, at.span)) return;
  cx.report(diag::never_reached(at.span, what).label(training.end_of(measure), "training ends here"));
}

/// Periods and epochs that settings name are reached.
void check_all_reached(Context& cx, const Experiment& experiment, const TrainingLength& training) {
  for (const SettingValue& setting : experiment.trainer) {
    const std::string name = "`" + setting.path + "`";
    if (const auto* period = setting.value.get<node::Quantity>(); period != nullptr && setting.path == "val_every")
      check_reached(cx, training, setting.value, period->value, period->measure, "the first round of " + name);
    const auto* call = setting.value.get<node::Call>();
    if (call != nullptr && call->op == library::Id::Ramp) {
      const ExprView over = cx.at(call->args[2].value);
      if (const auto* period = over.get<node::Quantity>())
        check_reached(cx, training, over, period->value, period->measure, "the end of the `ramp` of " + name);
    }
    const auto* pairs =
        call != nullptr && call->op == library::Id::ByEpoch ? cx.at(call->args[0].value).get<node::List>() : nullptr;
    for (const ExprId id : pairs != nullptr ? pairs->elements : ExprIds{}) {
      const auto* pair = cx.at(id).get<node::Tuple>();
      if (pair == nullptr) continue;
      const ExprView from = cx.at(pair->elements[0]);
      // Epochs count from 0: the last one is one less than there are.
      if (const auto* epoch = from.get<node::IntConst>())
        check_reached(cx, training, from, double(epoch->value) + 1, host::Measure::Epochs,
                      "epoch " + std::to_string(epoch->value));
    }
  }
}

/// `prune = asha(max = 40 epochs)`: no trial comes so far.
void check_pruning_reached(Context& cx, const Experiment& experiment, const TrainingLength& training) {
  const auto* sweep = experiment.sweep ? experiment.sweep->get<node::Call>() : nullptr;
  if (sweep == nullptr) return;
  for (const node::NamedArg& setting : sweep->args) {
    const auto* asha = cx.at(setting.value).get<node::Call>();
    if (asha == nullptr || asha->op != library::Id::Asha) continue;
    const bool is_wrong = std::ranges::any_of(asha->args, [&](const node::NamedArg& arg) {
      return is_reported(cx, diagnostics::Code::E0325, cx.at(arg.value).span);
    });
    if (is_wrong) continue;
    for (const node::NamedArg& arg : asha->args) {
      const ExprView written = cx.at(arg.value);
      const auto* period = written.get<node::Quantity>();
      if (period != nullptr && !written.span.is_empty())
        check_reached(cx, training, written, period->value, period->measure, "`" + arg.name + "` of `asha`");
    }
  }
}

/// So are the periods of callbacks, and what they begin at.
void check_callbacks_reached(Context& cx, const Experiment& experiment, const TrainingLength& training) {
  for (const Expr& one : experiment.callbacks) {
    const auto* call = one.get<node::Call>();
    if (call == nullptr || call->op == library::Id::None) continue;
    for (const node::NamedArg& arg : call->args) {
      const ExprView written = cx.at(arg.value);
      const auto* period = written.get<node::Quantity>();
      if (period == nullptr || written.span.is_empty()) continue;
      check_reached(cx, training, written, period->value, period->measure,
                    "`" + arg.name + "` of `" + std::string(library::info(call->op).name) + "`");
    }
  }
}

}  // namespace

std::optional<double> most_values(const std::string& series, const Experiment& experiment) {
  const auto* every = find_constant<node::Quantity>(experiment, "val_every");
  const bool in_steps = every != nullptr && every->measure == host::Measure::Steps && !series.starts_with("train.");
  const auto* length = find_constant<node::IntConst>(experiment, in_steps ? "steps" : "epochs");
  if (length == nullptr) return std::nullopt;
  const double all = double(length->value);
  if (series.starts_with("train.")) return all;
  const auto* at_start = find_constant<node::BoolConst>(experiment, "val_at_start");
  const double before = at_start != nullptr && at_start->value ? 1 : 0;
  if (find_setting(experiment.trainer, "val_every") == nullptr) return all + before;
  if (every == nullptr || every->measure == host::Measure::Seconds || every->value <= 0) return std::nullopt;
  if (every->value > all) return std::nullopt;  // No round is reached, which is said of the setting.
  return std::ceil(all / every->value) + before;
}

namespace {

/// `EarlyStop` waits for the first value and for as many as `patience` says behind it.
void check_patience(Context& cx, const Experiment& experiment) {
  for (const Expr& one : experiment.callbacks) {
    const auto* call = one.get<node::Call>();
    if (call == nullptr || call->op != library::Id::EarlyStop) continue;
    const auto watched = watched_series(*call, cx.program);
    const auto most = watched ? most_values(watched->series, experiment) : std::nullopt;
    const auto patience = std::ranges::find(call->args, "patience", &node::NamedArg::name);
    // Whoever ends training at a value may mean to wait for nothing else.
    const bool ends_at_value = std::ranges::any_of(call->args, [&](const node::NamedArg& arg) {
      return (arg.name == "threshold" || arg.name == "divergence") && !cx.at(arg.value).span.is_empty();
    });
    if (!most || ends_at_value || patience == call->args.end()) continue;
    const ExprView written = cx.at(patience->value);
    const auto* values = written.get<node::IntConst>();
    const bool is_told = written.span.is_empty() || is_reported(cx, diagnostics::Code::W0410, written.span);
    if (values == nullptr || is_told || is_endless(cx) || double(values->value) < *most) continue;
    diagnostics::Diagnostic diagnostic = diag::never_reached(written.span, "the end of this `patience`");
    const SettingValue* epochs = find_setting(experiment.trainer, "epochs");
    const SettingValue* end = epochs != nullptr ? epochs : find_setting(experiment.trainer, "steps");
    if (end != nullptr) diagnostic.label(end->value.span, "training ends here");
    cx.report(std::move(diagnostic));
  }
}

}  // namespace

void check_settings_together(Context& cx, const Experiment& experiment) {
  check_window_settings(cx, experiment);
  check_least(cx, experiment, "min_epochs", "epochs");
  check_least(cx, experiment, "min_steps", "steps");
  check_equal_runs(cx, experiment);
  const TrainingLength training = training_length(cx, experiment);
  check_all_reached(cx, experiment, training);
  check_callbacks_reached(cx, experiment, training);
  check_pruning_reached(cx, experiment, training);
  check_patience(cx, experiment);
}

}  // namespace ltr::check
