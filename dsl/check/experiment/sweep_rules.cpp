#include <algorithm>

#include "dsl/check/experiment/trials.h"
#include "dsl/check/experiment/wired.h"
#include "dsl/check/expressions/expressions.h"

namespace ltr::check {

namespace {

/// What is asked of hparams: by one of them, or by what an experiment is made of.
struct Rule {
  ExprId condition;
  std::string text;
  Span span;
  bool is_of_start = false;
};

/// The rules of an experiment's data and model that a run looks at when it starts.
std::vector<Rule> start_rules(const Experiment& experiment, const Program& program) {
  std::vector<Rule> rules;
  for (const Obligation& one : program.obligations) {
    if (is_asked_at_start(one, experiment))
      rules.push_back({*one.condition, one.text, one.use.is_empty() ? one.span : one.use, true});
  }
  return rules;
}

class SweepRules {
 public:
  SweepRules(Context& cx, const Experiment& experiment, const node::Call& sweep)
      : cx_(cx), experiment_(experiment), sweep_(sweep) {}

  void run() {
    const std::vector<Rule> of_start = start_rules(experiment_, cx_.program);
    for (const node::NamedArg& axis : sweep_.args) {
      if (has_mistake(cx_.at(axis.value).span)) continue;
      std::vector<Rule> rules;
      for (const size_t index : rules_about({axis.name}, cx_.program)) {
        const Hparam& hparam = cx_.program.hparams[index];
        const auto by_default = evaluate(cx_.at(*hparam.where), cx_.program);
        if (by_default && by_default->whole == 0) continue;  // Reported there.
        rules.push_back({*hparam.where, hparam.where_text, cx_.at(*hparam.where).span});
      }
      rules.insert(rules.end(), of_start.begin(), of_start.end());
      // One rule says it for the axis.
      (void)std::ranges::any_of(rules, [&](const Rule& rule) {
        const std::vector<std::string> axes = axes_of(rule);
        if (axes != std::vector{axis.name}) return axes.size() > 1 && has_lost_value(axis, axes, rule);
        return is_broken_by(axis, rule);
      });
    }
  }

 private:
  /// Whether what draws the values was told that it may not draw so.
  bool has_mistake(Span axis) const {
    return std::ranges::any_of(cx_.sink->reported(), [&](const diagnostics::Diagnostic& one) {
      return one.code == diagnostics::Code::E0319 && one.span.source == axis.source && axis.begin <= one.span.begin &&
             one.span.end <= axis.end;
    });
  }

  bool is_axis(const std::string& name) const {
    return std::any_of(sweep_.args.begin(), sweep_.args.end(), [&](const auto& one) { return one.name == name; });
  }

  using Values = std::vector<std::pair<std::string, Expr>>;

  /// The rule where the trial gives axes these values.
  Wired in_trial(const Rule& rule, const Values& values) const {
    Experiment trial;
    trial.sets = experiment_.sets;
    std::erase_if(trial.sets, [&](const auto& one) { return is_axis(one.first); });
    trial.sets.insert(trial.sets.end(), values.begin(), values.end());
    return wire(cx_.at(rule.condition), Object(), {}, trial, cx_.program);
  }

  /// The axes that a rule asks for.
  std::vector<std::string> axes_of(const Rule& rule) const {
    std::vector<std::string> names = in_trial(rule, {}).hparams;
    std::erase_if(names, [&](const std::string& name) { return !is_axis(name); });
    std::ranges::sort(names);
    names.erase(std::ranges::unique(names).begin(), names.end());
    return names;
  }

  bool is_kept(const Rule& rule, const Values& values) const {
    const auto holds = evaluate(in_trial(rule, values).expr, cx_.program);
    return !holds || holds->whole != 0;
  }

  bool is_broken_by(const node::NamedArg& axis, const Rule& rule) const {
    const std::vector<Drawn> all = drawn_from(cx_.at(axis.value), cx_);
    const auto is_broken = [&](const Drawn& drawn) { return !is_kept(rule, {{axis.name, drawn.value}}); };
    const auto first = std::ranges::find_if(all, is_broken);
    if (first == all.end()) return false;
    // What no value of a list keeps is no mistake of the list.
    const bool is_list = cx_.at(axis.value).is<node::List>();
    if (is_list && rule.is_of_start && std::ranges::all_of(all, is_broken)) {
      if (is_reported(cx_, diagnostics::Code::E0319, rule.span)) return true;
      cx_.report(
          diag::where_not_satisfied(rule.span, rule.text, "no trial of the sweep over `" + axis.name + "` keeps it")
              .label(cx_.at(axis.value).span, "tried here"));
      return true;
    }
    report(rule, first->value.span, "a trial may have `" + axis.name + " = " + first->text + "`");
    return true;
  }

  /// Whether a value of one of several lists goes with none of the others, `heads = 3` beside `D in [32, 64]`.
  bool has_lost_value(const node::NamedArg& axis, const std::vector<std::string>& axes, const Rule& rule) const {
    if (!cx_.at(axis.value).is<node::List>()) return false;
    std::vector<Values> others = {{}};
    for (const node::NamedArg& other : sweep_.args) {
      if (other.name == axis.name || std::ranges::find(axes, other.name) == axes.end()) continue;
      if (!cx_.at(other.value).is<node::List>()) return false;
      std::vector<Values> longer;
      for (const Drawn& drawn : drawn_from(cx_.at(other.value), cx_)) {
        for (Values values : others) {
          values.emplace_back(other.name, drawn.value);
          longer.push_back(std::move(values));
        }
      }
      constexpr size_t kMost = 1'000;
      if (longer.size() > kMost) return false;
      others = std::move(longer);
    }
    for (const Drawn& drawn : drawn_from(cx_.at(axis.value), cx_)) {
      const bool is_lost = std::ranges::none_of(others, [&](Values values) {
        values.emplace_back(axis.name, drawn.value);
        return is_kept(rule, values);
      });
      if (!is_lost) continue;
      report(rule, drawn.value.span, "no trial with `" + axis.name + " = " + drawn.text + "` keeps it");
      return true;
    }
    return false;
  }

  void report(const Rule& rule, Span span, const std::string& why) const {
    if (is_reported(cx_, diagnostics::Code::E0319, span)) return;
    cx_.report(diag::where_not_satisfied(span, rule.text, why)
                   .tie(rule.is_of_start ? diagnostics::Tie::AskedBy : diagnostics::Tie::None, rule.span, "{}",
                        rule.is_of_start ? "by this" : "the rule"));
  }

  Context& cx_;
  const Experiment& experiment_;
  const node::Call& sweep_;
};

}  // namespace

void check_sweep_rules(Context& cx) {
  // A copy: what is wired is kept in the program.
  const std::vector<Experiment> experiments = cx.program.experiments;
  for (const Experiment& experiment : experiments) {
    const auto* sweep = experiment.sweep ? experiment.sweep->get<node::Call>() : nullptr;
    if (sweep != nullptr) SweepRules(cx, experiment, *sweep).run();
  }
}

}  // namespace ltr::check
