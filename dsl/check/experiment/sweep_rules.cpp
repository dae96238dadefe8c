#include <algorithm>

#include "dsl/check/experiment/wired.h"
#include "dsl/check/expressions/expressions.h"

namespace ltr::check {

namespace {

/// A value that trials may be given, and what people read of it.
struct Drawn {
  Expr value;
  std::string text;
};

std::string number_text(double value) {
  std::string text = std::to_string(value);
  text.erase(text.find_last_not_of('0') + 1);
  return text.ends_with('.') ? text + "0" : text;
}

const ExprView argument(const node::Call& call, const std::string& name, const Context& cx) {
  const auto found =
      std::find_if(call.args.begin(), call.args.end(), [&](const node::NamedArg& one) { return one.name == name; });
  return cx.at(found->value);
}

/// Values of an axis that show whether its range keeps a rule: all of a list and of a short range of ints, the ends of longer
/// ones. Of a continuous range both ends a little inside of it, since whether an end itself is ever drawn is no matter.
std::vector<Drawn> drawn_from(const ExprView& axis, const Context& cx) {
  std::vector<Drawn> values;
  if (const auto* list = axis.get<node::List>()) {
    for (const ExprId element : list->elements) values.push_back({cx.at(element), cx.source_text(cx.at(element).span)});
    return values;
  }
  const auto* draw = axis.get<node::Call>();
  const bool is_range =
      draw != nullptr && (draw->op == library::Id::DrawIntUniform || draw->op == library::Id::DrawUniform ||
                          draw->op == library::Id::DrawLogUniform);
  if (!is_range) return values;
  const auto low = evaluate(argument(*draw, "low", cx), cx.program);
  const auto high = evaluate(argument(*draw, "high", cx), cx.program);
  if (!low || !high) return values;
  if (draw->op == library::Id::DrawIntUniform) {
    constexpr uint64_t kMost = 1'000;
    std::vector<int64_t> ints = {low->whole, high->whole};
    if (low->whole <= high->whole && uint64_t(high->whole) - uint64_t(low->whole) < kMost) {
      ints.clear();
      for (int64_t i = low->whole; i < high->whole; ++i) ints.push_back(i);
      ints.push_back(high->whole);
    }
    for (const int64_t one : ints) values.push_back({int_const(one, axis.span), std::to_string(one)});
    return values;
  }
  const double inside = (high->real - low->real) * 1e-6;
  for (const double value : {low->real + inside, high->real - inside})
    values.push_back({{Type::of(Kind::Float), axis.span, node::FloatConst{value}},
                      number_text(value < (low->real + high->real) / 2 ? low->real : high->real)});
  return values;
}

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
      std::vector<Rule> rules;
      for (const size_t index : rules_about({axis.name}, cx_.program)) {
        const Hparam& hparam = cx_.program.hparams[index];
        const auto by_default = evaluate(cx_.at(*hparam.where), cx_.program);
        if (by_default && by_default->whole == 0) continue;  // Reported there.
        rules.push_back({*hparam.where, hparam.where_text, cx_.at(*hparam.where).span});
      }
      rules.insert(rules.end(), of_start.begin(), of_start.end());
      // One rule says it for the axis.
      (void)std::ranges::any_of(
          rules, [&](const Rule& rule) { return hangs_on(rule, axis.name) && is_broken_by(axis, rule); });
    }
  }

 private:
  bool is_axis(const std::string& name) const {
    return std::any_of(sweep_.args.begin(), sweep_.args.end(), [&](const auto& one) { return one.name == name; });
  }

  /// The rule where the trial gives `axis` this value, or, without one, what it has outside of the sweep.
  Wired in_trial(const Rule& rule, const std::string& axis, std::optional<Expr> value) const {
    Experiment trial;
    trial.sets = experiment_.sets;
    std::erase_if(trial.sets, [&](const auto& one) { return one.first == axis; });
    if (value) trial.sets.emplace_back(axis, std::move(*value));
    return wire(cx_.at(rule.condition), Object(), {}, trial, cx_.program);
  }

  /// Whether a rule asks for this axis alone: one of two axes hangs on what the trial draws for the other.
  bool hangs_on(const Rule& rule, const std::string& axis) const {
    const std::vector<std::string> names = in_trial(rule, axis, std::nullopt).hparams;
    return std::find(names.begin(), names.end(), axis) != names.end() &&
           std::none_of(names.begin(), names.end(), [&](const auto& name) { return name != axis && is_axis(name); });
  }

  bool is_broken_by(const node::NamedArg& axis, const Rule& rule) const {
    for (Drawn& drawn : drawn_from(cx_.at(axis.value), cx_)) {
      const Span span = drawn.value.span;
      const auto holds = evaluate(in_trial(rule, axis.name, std::move(drawn.value)).expr, cx_.program);
      if (!holds || holds->whole != 0) continue;
      if (is_reported(cx_, diagnostics::Code::E0319, span)) return true;
      const std::string why = "a trial may have `" + axis.name + " = " + drawn.text + "`";
      cx_.report(diag::where_not_satisfied(span, rule.text, why)
                     .tie(rule.is_of_start ? diagnostics::Tie::AskedBy : diagnostics::Tie::None, rule.span, "{}",
                          rule.is_of_start ? "by this" : "the rule"));
      return true;
    }
    return false;
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
