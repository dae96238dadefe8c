// Settings of a trainer that only one of can hold.

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

}  // namespace

void check_settings_together(Context& cx, const Experiment& experiment) {
  check_window_settings(cx, experiment);
  check_least(cx, experiment, "min_epochs", "epochs");
  check_least(cx, experiment, "min_steps", "steps");
}

}  // namespace ltr::check
