#include <algorithm>

#include "dsl/check/experiment/trials.h"
#include "dsl/check/experiment/wired.h"
#include "dsl/check/expressions/expressions.h"
#include "dsl/check/walk.h"

namespace ltr::check {

namespace {

/// The `lr` of an optimizer.
std::optional<ExprView> rate_of(const Member& member, const Context& cx) {
  if (member.kind != MemberKind::Optimizer || member.value.type.is_error()) return std::nullopt;
  const auto* rule = member.value.get<node::Call>();
  if (rule == nullptr) return std::nullopt;
  for (const node::NamedArg& arg : rule->args) {
    if (arg.name == "lr") return cx.at(arg.value);
  }
  return std::nullopt;
}

/// Whether the value is a default or a setting that breaks a `where`, which has been reported.
bool breaks_its_rule(const Wired& wired, const Experiment& experiment, Program& program) {
  const Object none;
  for (const Hparam& hparam : program.hparams) {
    const auto set = std::find_if(experiment.sets.begin(), experiment.sets.end(),
                                  [&](const auto& one) { return one.first == hparam.name; });
    if (!hparam.where || set == experiment.sets.end() || !(set->second.span == wired.given)) continue;
    const auto holds = evaluate(wire(program.exprs[*hparam.where], none, {}, experiment, program).expr, program);
    if (holds && holds->whole == 0) return true;
  }
  return std::any_of(program.hparams.begin(), program.hparams.end(), [&](const Hparam& hparam) {
    const bool is_used = std::find(wired.hparams.begin(), wired.hparams.end(), hparam.name) != wired.hparams.end();
    const auto holds = is_used && hparam.where ? evaluate(program.exprs[*hparam.where], program) : std::nullopt;
    return holds && holds->whole == 0;
  });
}

/// W0418: a rate that is set stays, so that a schedule beside it ends there.
void check_set_rates(Context& cx, const Object& model) {
  const auto schedule_of = [&](const ExprView& optimizer) -> std::optional<ExprView> {
    const auto* member = optimizer.get<node::Member>();
    const auto own = std::ranges::find(model.members, member != nullptr ? member->name : "", &Member::name);
    if (own == model.members.end() || own->kind != MemberKind::Optimizer) return std::nullopt;
    const auto setting = std::ranges::find(own->settings, "schedule", [](const auto& one) { return one.first; });
    return setting != own->settings.end() ? std::optional<ExprView>(setting->second) : std::nullopt;
  };
  for (const FnId id : model.fns) {
    for_each_expr(cx.program.fns[id].body, cx.program, [&](const ExprView& expr) {
      const auto* call = expr.get<node::Op>();
      if (call == nullptr || call->op != library::Id::SetLr || call->args.empty()) return;
      const ExprView optimizer = cx.at(call->args[0]);
      if (const auto schedule = schedule_of(optimizer))
        cx.report(
            diag::ended_schedule(expr.span, cx.source_text(optimizer.span))
                .label(schedule->span, "its schedule")
                .help("a rate that follows rules of its own is a schedule, too: `schedule = FUNCTION` of the step"));
    });
  }
}

}  // namespace

std::string short_text(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%g", value);
  return text;
}

namespace {

/// W0421: `plateau` lets a rate fall to `min_lr`, and what lies above the rate raises it.
void check_least_rate(Context& cx, const Object& model, const Member& optimizer, const Experiment& experiment) {
  const auto has_rate = [](const GroupSettings& group) {
    return std::ranges::any_of(group.settings, [](const auto& one) { return one.first == "lr"; });
  };
  const auto written = rate_of(optimizer, cx);
  const auto schedule = std::ranges::find(optimizer.settings, "schedule", [](const auto& one) { return one.first; });
  if (!written || schedule == optimizer.settings.end() || std::ranges::any_of(optimizer.groups, has_rate)) return;
  const auto* plateau = schedule->second.get<node::Call>();
  if (plateau == nullptr || plateau->op != library::Id::Plateau) return;
  const auto least = std::ranges::find(plateau->args, "min_lr", &node::NamedArg::name);
  if (least == plateau->args.end() || cx.at(least->value).span.is_empty()) return;
  const auto wired = [&](const ExprView& expr) {
    return wire(expr, model, experiment.model_arguments, experiment, cx.program);
  };
  const Wired end = wired(cx.at(least->value)), begin = wired(*written);
  const auto last = evaluate(end.expr, cx.program), first = evaluate(begin.expr, cx.program);
  if (!last || !first || first->real <= 0 || last->real <= first->real) return;
  if (is_reported(cx, diagnostics::Code::W0421, end.given)) return;
  const std::string rate = short_text(first->real);
  cx.report(diag::runaway_rate(end.given, optimizer.name, "is raised to " + short_text(last->real))
                .label(written->span, "the rate is {}", rate)
                .note("`min_lr` is where `plateau` stops making it smaller, and below {}", rate));
}

}  // namespace

void check_learning_rates(Context& cx) {
  for (const Object& model : cx.program.models) {
    check_set_rates(cx, model);
    for (const Member& member : model.members) {
      const auto rate = rate_of(member, cx);
      const auto value = rate ? evaluate(*rate, cx.program) : std::nullopt;
      if (value && value->real <= 0) cx.report(diag::bad_learning_rate(rate->span, cx.source_text(rate->span)));
    }
  }
  for (const Experiment& experiment : cx.program.experiments) {
    check_given_rates(cx, experiment);
    if (experiment.model >= cx.program.models.size() || experiment.sweep) continue;
    const Object& model = cx.program.models[experiment.model];
    for (const Member& member : model.members) check_least_rate(cx, model, member, experiment);
  }
}

void check_given_rates(Context& cx, const Experiment& experiment, const Drawn* drawn) {
  if (experiment.model >= cx.program.models.size()) return;
  const Object& model = cx.program.models[experiment.model];
  for (const Member& member : model.members) {
    const auto rate = rate_of(member, cx);
    if (!rate || evaluate(*rate, cx.program)) continue;
    const Wired wired = wire(*rate, model, experiment.model_arguments, experiment, cx.program);
    const auto value = evaluate(wired.expr, cx.program);
    if (!value || value->real > 0 || breaks_its_rule(wired, experiment, cx.program)) continue;
    const bool is_of_trial = drawn != nullptr && wired.given == drawn->value.span;
    if (drawn != nullptr && (!is_of_trial || is_reported(cx, diagnostics::Code::E0418, wired.given))) continue;
    diagnostics::Diagnostic diagnostic =
        diag::bad_learning_rate(wired.given, is_of_trial ? drawn->text : cx.source_text(wired.given));
    diagnostic.label(rate->span, "it is the rate of `{}`", member.name);
    if (is_of_trial) diagnostic.note("a trial of the sweep may have it");
    cx.report(std::move(diagnostic));
  }
}

}  // namespace ltr::check
