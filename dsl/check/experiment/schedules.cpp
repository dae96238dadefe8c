#include "dsl/check/experiment/settings.h"
#include "dsl/check/experiment/wired.h"
#include "dsl/check/expressions/expressions.h"
#include "dsl/check/walk.h"

namespace ltr::check {

namespace {

struct Training {
  std::optional<int64_t> steps;
  std::optional<int64_t> epochs;
  Span steps_span;
  Span epochs_span;
  bool has_epochs = false;
  bool has_steps = false;
};

Training training_of(Context& cx, const Experiment& experiment) {
  Training training;
  const Object none;
  const auto count = [&](const SettingValue& setting) -> std::optional<int64_t> {
    const Wired wired = wire(setting.value, none, {}, experiment, cx.program);
    const auto value = evaluate(wired.expr, cx.program);
    return value && value->kind == HostValue::Kind::Int ? std::optional(value->whole) : std::nullopt;
  };
  for (const SettingValue& setting : experiment.trainer) {
    if (setting.path == "steps") {
      training.has_steps = true;
      training.steps = count(setting);
      training.steps_span = setting.span;
    } else if (setting.path == "epochs") {
      training.has_epochs = true;
      training.epochs = count(setting);
      training.epochs_span = setting.span;
    }
  }
  return training;
}

struct Schedules {
  Context& cx;
  const Experiment& experiment;
  const Object& model;
  const Training training;
  const std::string& optimizer;
  bool is_said = false;  ///< one schedule in epochs is one mistake

  void check(const ExprView& expr) {
    if (const auto* call = expr.get<node::Call>()) {
      for (const node::NamedArg& arg : call->args) check_argument(*call, arg.name, cx.at(arg.value));
    } else {
      for_each_child(expr, [&](ExprId child) { check_argument({}, "", cx.at(child)); });
    }
  }

  void check_argument(const node::Call& schedule, const std::string& name, const ExprView& written) {
    const Wired wired = wire(written, model, experiment.model_arguments, experiment, cx.program);
    if (const auto* period = wired.expr.get<node::Quantity>()) {
      check_unit(written, *period);
      if (!name.empty() && name == library::info(schedule.op).warmup) check_warmup(written, *period);
      if (name != library::info(schedule.op).warmup) check_change(schedule, written, *period);
    }
    if (const auto* list = wired.expr.get<node::List>()) {
      for (const ExprId id : list->elements) {
        if (const auto* period = cx.at(id).get<node::Quantity>()) check_change(schedule, cx.at(id), *period);
      }
    }
    check(written);
  }

  bool is_written(const ExprView& expr) const {
    return cx.sources.contains(expr.span.source) && expr.span.source == model_source();
  }
  source::SourceId model_source() const { return model.span.source; }

  void check_unit(const ExprView& written, const node::Quantity& value) {
    if (value.measure == host::Measure::Seconds && is_written(written)) {
      cx.report(diag::wrong_argument(written.span, "schedules count steps or epochs, and this is a time")
                    .help("write it as `1000 steps` or `2 epochs`"));
      return;
    }
    if (value.measure != host::Measure::Epochs || is_said || training.has_epochs || !training.has_steps) return;
    if (!is_written(written)) return;
    is_said = true;
    cx.report(diag::schedule_in_epochs(training.steps_span, optimizer)
                  .label(written.span, "epochs here")
                  .help("say how many `epochs` to train, or write the schedule in steps"));
  }

  /// W0410: a rate that changes at steps of its own never does.
  void check_change(const node::Call& schedule, const ExprView& written, const node::Quantity& at) {
    if (schedule.op != library::Id::StepSchedule && schedule.op != library::Id::Multistep) return;
    const bool in_epochs = at.measure == host::Measure::Epochs;
    const std::optional<int64_t> limit = in_epochs ? training.epochs : training.steps;
    if (!limit || (!in_epochs && at.measure != host::Measure::Steps) || at.value < double(*limit)) return;
    if (is_reported(cx, diagnostics::Code::W0410, written.span)) return;
    cx.report(diag::never_reached(written.span, "this change of the rate of `" + optimizer + "`")
                  .label(in_epochs ? training.epochs_span : training.steps_span, "training ends here"));
  }

  void check_warmup(const ExprView& written, const node::Quantity& value) {
    const bool in_epochs = value.measure == host::Measure::Epochs;
    const std::optional<int64_t> limit = in_epochs ? training.epochs : training.steps;
    if (!limit || (!in_epochs && value.measure != host::Measure::Steps) || value.value <= double(*limit)) return;
    const std::string unit = in_epochs ? " epochs" : " steps";
    cx.report(diag::warmup_too_long(in_epochs ? training.epochs_span : training.steps_span, optimizer,
                                    std::to_string(int64_t(value.value)) + unit, std::to_string(*limit) + unit)
                  .label(written.span, "the warm-up")
                  .help("shorten the warm-up, or train for longer"));
  }
};

}  // namespace

void check_schedules(Context& cx, const Experiment& experiment) {
  const Object& model = cx.program.models[experiment.model];
  const Training training = training_of(cx, experiment);
  for (const Member& member : model.members) {
    if (member.kind != MemberKind::Optimizer) continue;
    Schedules schedules{cx, experiment, model, training, member.name};
    for (const auto& [name, value] : member.settings) {
      if (value.type.kind == Kind::Schedule) schedules.check(value);
    }
    for (const GroupSettings& group : member.groups) {
      for (const auto& [name, value] : group.settings) {
        if (value.type.kind == Kind::Schedule) schedules.check(value);
      }
    }
  }
}

}  // namespace ltr::check
