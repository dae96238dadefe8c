#include "dsl/check/experiment/trials.h"

#include <algorithm>

#include "dsl/check/experiment/wired.h"
#include "dsl/check/expressions/expressions.h"

namespace ltr::check {

namespace {

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

/// What of an axis shows whether its values are in a range: of a list each, of what is drawn both ends.
std::vector<Drawn> ends_of(const ExprView& axis, const Context& cx) {
  std::vector<Drawn> values = drawn_from(axis, cx);
  if (!axis.is<node::List>() && values.size() > 2) values = {values.front(), values.back()};
  return values;
}

}  // namespace

std::vector<Drawn> drawn_from(const ExprView& axis, const Context& cx) {
  std::vector<Drawn> values;
  if (const auto* list = axis.get<node::List>()) {
    for (const ExprId element : list->elements) values.push_back({cx.at(element), cx.source_text(cx.at(element).span)});
    return values;
  }
  const auto* draw = axis.get<node::Call>();
  if (draw != nullptr && draw->op == library::Id::DrawNormal) {
    const auto mean = evaluate(argument(*draw, "mean", cx), cx.program);
    const auto std = evaluate(argument(*draw, "std", cx), cx.program);
    for (const double side : {-2.0, 2.0}) {
      if (!mean || !std) break;
      const double value = mean->real + side * std->real;
      values.push_back({{Type::of(Kind::Float), axis.span, node::FloatConst{value}}, number_text(value)});
    }
    return values;
  }
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

void check_swept_values(Context& cx) {
  for (size_t i = 0; i < cx.program.experiments.size(); ++i) {
    if (!cx.program.experiments[i].sweep) continue;
    const Experiment experiment = cx.program.experiments[i];  // what is wired is kept in the program
    const auto* sweep = experiment.sweep->get<node::Call>();
    for (const node::NamedArg& axis : sweep != nullptr ? sweep->args : std::vector<node::NamedArg>()) {
      if (cx.program.find_hparam(axis.name) == nullptr) continue;
      for (const Drawn& drawn : ends_of(cx.at(axis.value), cx)) {
        if (is_reported(cx, diagnostics::Code::E0319, drawn.value.span)) continue;
        Experiment trial = experiment;
        std::erase_if(trial.sets, [&](const auto& one) { return one.first == axis.name; });
        trial.sets.emplace_back(axis.name, drawn.value);
        check_given_rates(cx, trial, &drawn);
        check_given_ranges(cx, trial, &drawn);
      }
    }
  }
}

}  // namespace ltr::check
