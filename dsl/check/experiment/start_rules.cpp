#include <algorithm>

#include "dsl/check/experiment/wired.h"
#include "dsl/check/expressions/expressions.h"

namespace ltr::check {

namespace {

/// Whether a trial of the sweep gives one of the hparams another value.
bool is_swept(const Wired& wired, const Experiment& experiment) {
  const auto* sweep = experiment.sweep ? experiment.sweep->get<node::Call>() : nullptr;
  return sweep != nullptr && std::any_of(sweep->args.begin(), sweep->args.end(), [&](const node::NamedArg& axis) {
           return std::find(wired.hparams.begin(), wired.hparams.end(), axis.name) != wired.hparams.end();
         });
}

void check_rules(Context& cx, const Experiment& experiment, const std::vector<Obligation>& rules) {
  const Object none;
  for (const Obligation& rule : rules) {
    if (!rule.condition || rule.needs_data || rule.fate != Fate::AtStart) continue;
    const Wired wired = wire(cx.at(*rule.condition), none, {}, experiment, cx.program);
    const auto holds = evaluate(wired.expr, cx.program);
    const Span place = rule.use.is_empty() ? rule.span : rule.use;
    if (!holds || holds->whole != 0 || is_swept(wired, experiment) || is_reported(cx, diagnostics::Code::E0319, place))
      continue;
    diagnostics::Diagnostic diagnostic =
        diag::where_not_satisfied(place, rule.text, "experiment `" + experiment.name + "` gives other values");
    if (place != rule.span) diagnostic.label(rule.span, "required here");
    note_hparams(diagnostic, wired, cx);
    cx.report(std::move(diagnostic));
  }
}

}  // namespace

void check_start_rules(Context& cx) {
  // A copy: what is wired is kept in the program.
  const std::vector<Experiment> experiments = cx.program.experiments;
  const std::vector<Obligation> of_program = cx.program.obligations;
  for (const Experiment& experiment : experiments) check_rules(cx, experiment, of_program);
}

}  // namespace ltr::check
