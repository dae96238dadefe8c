#include "runtime/cli/sweep_plan.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <set>

#include "doors/number.h"
#include "runtime/api/suggest.h"
#include "runtime/cli/tuned_setting.h"
#include "runtime/settings/value_text.h"
#include "runtime/tables/draws.h"
#include "runtime/tables/sweep_words.h"
#include "runtime/tensor/random.h"
#include "runtime/train/series_name.h"

namespace ltr::cli {

namespace {

/// Draws of values that rules of hparams refuse are made anew, so often.
constexpr int64_t kAttempts = 1000;

const HparamInfo* find_hparam(const Start& start, const Str& name) {
  for (const HparamInfo& info : start.settings.hparams()) {
    if (name == info.name) return &info;
  }
  return nullptr;
}

/// `lr=log_uniform(1e-4,1e-2)` and `width in [16, 32]`.
SweepAxis read_over(const Start& start, const Str& spec) {
  const size_t in = spec.find(" in "), equals = spec.find('=');
  const bool is_list = in != Str::npos && (equals == Str::npos || in < equals);
  const size_t at = is_list ? in : equals;
  const auto fail = [&](const Str& wanted) -> Error {
    return error_at({}, err::wrong_type, "--over", fmt::format("\"{}\"", spec), wanted);
  };
  if (at == Str::npos) throw fail("NAME=DRAW or NAME in [VALUES]");
  Str name = spec.substr(0, at);
  name.erase(name.find_last_not_of(' ') + 1);
  const HparamInfo* hparam = find_hparam(start, name);
  if (hparam == nullptr) {
    std::vector<Str> names;
    for (const HparamInfo& info : start.settings.hparams()) names.emplace_back(info.name);
    const Str near = nearest(name, names);
    throw error_at(
        {}, err::unknown_setting,
        fmt::format("{} to sweep over{}", name, near.empty() ? "" : fmt::format("; did you mean {}?", near)));
  }
  const Str type = hparam->type;
  Str draws;
  for (const DrawRow& draw : kDrawRows) {
    if (type == draw.type) draws += fmt::format(" or {}", draw.name);
  }
  Str wanted;
  const Option<Value> value = parse_value(spec.substr(at + (is_list ? 4 : 1)),
                                          is_list ? fmt::format("list[{}]", type) : "one_of[]" + draws, wanted);
  const bool is_drawn = value && value->kind == Value::Kind::Call;
  if (!value || (is_list ? value->items.empty() : !is_drawn)) throw fail(is_list ? wanted : "a draw" + wanted);
  if (is_drawn) {
    const double low = value->items[0].value.as_float(), high = value->items[1].value.as_float();
    const bool fits = value->text == "normal" ? high > 0 : low < high && (value->text != "log_uniform" || low > 0);
    if (!fits)
      throw error_at({}, err::out_of_range, "--over", value->to_text(),
                     value->text == "normal"        ? "std > 0"
                     : value->text == "log_uniform" ? "0 < low < high"
                                                    : "low < high");
  }
  return {name, *value};
}

Pruning read_pruning(const Value& call, const Location& where) {
  const Value &most = *call.find("max"), &least = *call.find("min");
  Pruning pruning;
  pruning.in_epochs = most.kind == Value::Kind::Epochs;
  pruning.most = most.real;
  pruning.eta = call.find("eta")->as_int();
  const bool has_units = most.kind == Value::Kind::Epochs || most.kind == Value::Kind::Steps;
  if (!has_units || most.kind != least.kind || least.real <= 0 || most.real < least.real) {
    throw error_at(
        where, err::settings_contradict,
        fmt::format("{}: max and min are both epochs or both steps, and min is the smaller one", call.to_text()));
  }
  for (double rung = least.real; rung < most.real; rung *= double(pruning.eta)) pruning.rungs.push_back(rung);
  return pruning;
}

/// A number in [0, 1).
double share(const SweepPlan& plan, int64_t trial, uint64_t axis, uint64_t attempt) {
  return double(random_key(plan.seed, "sweep", {uint64_t(trial), axis, attempt}) >> 11) * 0x1p-53;
}

Value drawn(const SweepPlan& plan, int64_t trial, uint64_t axis, uint64_t attempt) {
  const Value& values = plan.axes[axis].values;
  const double u = share(plan, trial, 2 * axis, attempt);
  if (values.kind == Value::Kind::List) return values.items[size_t(u * double(values.items.size()))].value;
  const double first = values.items[0].value.as_float(), second = values.items[1].value.as_float();
  if (values.text == "int_uniform") return {int64_t(first) + int64_t(std::floor(u * (second - first + 1)))};
  if (values.text == "log_uniform") return {std::exp(std::log(first) + u * (std::log(second) - std::log(first)))};
  if (values.text == "uniform") return {first + u * (second - first)};
  // Box and Muller.
  const double angle = 2 * std::numbers::pi * share(plan, trial, 2 * axis + 1, attempt);
  return {first + second * std::sqrt(-2 * std::log(1 - u)) * std::cos(angle)};
}

/// The cell `number` of all combinations, the last axis first.
std::vector<Value> of_grid(const SweepPlan& plan, int64_t number) {
  std::vector<Value> values(plan.axes.size());
  for (size_t i = plan.axes.size(); i-- > 0;) {
    const std::vector<Argument>& list = plan.axes[i].values.items;
    values[i] = list[size_t(number % int64_t(list.size()))].value;
    number /= int64_t(list.size());
  }
  return values;
}

std::vector<TrialValue> named(const SweepPlan& plan, const std::vector<Value>& values) {
  std::vector<TrialValue> list;
  for (size_t i = 0; i < values.size(); ++i) list.push_back({plan.axes[i].name, show(values[i])});
  return list;
}

bool keeps_rules(const Start& start, const std::vector<TrialValue>& values) {
  std::vector<GivenOption> options;
  for (const TrialValue& one : values) options.push_back({one.name, one.text, "flag", "--" + one.name});
  return with_options(start, options) != nullptr;
}

/// R2006 of a value in the list of an axis that comes with no values of the others that a `where` of the hparams lets pass: the rest
/// of the list would be drawn in its place.
void check_values(const SweepPlan& plan, const SweepAxis& axis, const Start& start) {
  constexpr uint64_t kTries = 100;
  const auto place = size_t(&axis - plan.axes.data());
  for (const Argument& one : axis.values.items) {
    bool can_be = false;
    for (uint64_t attempt = 0; attempt < kTries && !can_be; ++attempt) {
      std::vector<Value> values;
      for (size_t i = 0; i < plan.axes.size(); ++i)
        values.push_back(i == place ? one.value : drawn(plan, 0, i, attempt));
      can_be = keeps_rules(start, named(plan, values));
    }
    if (!can_be)
      throw error_at({}, err::settings_contradict,
                     fmt::format("--over: no trial can have {} = {}, which a `where` of the hparams refuses", axis.name,
                                 show(one.value)));
  }
}

}  // namespace

Str SweepPlan::text() const {
  Str text = fmt::format("seed {}, {} {}, {} {}", seed, trials, is_grid ? "of a grid" : "drawn",
                         is_max ? "maximize" : "minimize", target);
  for (const SweepAxis& axis : axes) text += fmt::format(", {} {}", axis.name, axis.values.to_text());
  if (pruning)
    text += fmt::format(", asha {} {} {}", pruning->most, pruning->in_epochs ? "epochs" : "steps", pruning->eta);
  return text;
}

SweepPlan read_sweep(const Start& start) {
  SweepPlan plan;
  plan.seed = uint64_t(start.settings.value("trainer.seed").as_int());
  const Value& sweep = start.settings.sweep();
  const Location where = start.experiment->location;
  Option<int64_t> trials;
  for (const Argument& one : sweep.items) {
    const auto word = find_sweep_word(one.name);
    if (!word) {
      plan.axes.push_back({one.name, one.value});
      continue;
    }
    switch (*word) {
      case SweepWord::Trials: trials = one.value.as_int(); break;
      case SweepWord::Method: plan.is_grid = one.value.text == "grid"; break;
      case SweepWord::Minimize:
      case SweepWord::Maximize:
        plan.target = recorded_name(one.value.text);
        plan.is_max = word == SweepWord::Maximize;
        break;
      case SweepWord::Prune: plan.pruning = read_pruning(one.value, where);
    }
  }
  if (plan.target.empty()) {
    throw with_help(error_at(where, err::settings_contradict,
                             fmt::format("the experiment {} has no sweep", start.experiment->name)),
                    "sweep { lr = log_uniform(1e-4, 1e-2), trials = 20, minimize = val.loss }");
  }
  std::set<Str> over;  // what `check` has not seen
  for (const GivenOption& option : start.line.options) {
    if (option.name == "over") {
      SweepAxis axis = read_over(start, option.value);
      over.insert(axis.name);
      const auto same = std::ranges::find(plan.axes, axis.name, &SweepAxis::name);
      if (same != plan.axes.end())
        *same = std::move(axis);
      else
        plan.axes.push_back(std::move(axis));
    }
    if (option.name == "trials") {
      Str wanted;
      const Option<Value> count = parse_value(option.value, "int", wanted);
      if (!count || count->whole < 1)
        throw error_at({}, err::wrong_type, "--trials", fmt::format("\"{}\"", option.value), "a number of at least 1");
      trials = count->whole;
    }
  }
  for (const SweepAxis& axis : plan.axes) {
    const bool is_given =
        std::ranges::any_of(start.line.options, [&](const GivenOption& option) { return option.name == axis.name; });
    if (is_given)
      throw error_at({}, err::settings_contradict,
                     fmt::format("--{} gives a value to what the sweep goes over", axis.name));
    if (plan.is_grid && axis.values.kind != Value::Kind::List)
      throw error_at(where, err::settings_contradict,
                     fmt::format("method = grid goes through lists, and {} is drawn", axis.name));
  }
  for (const SweepAxis& axis : plan.axes) {
    if (over.contains(axis.name) && axis.values.kind == Value::Kind::List) check_values(plan, axis, start);
  }
  int64_t cells = 1;
  for (const SweepAxis& axis : plan.axes) cells *= plan.is_grid ? int64_t(axis.values.items.size()) : 1;
  if (!plan.is_grid && !trials)
    throw with_help(error_at(where, err::settings_contradict, "the sweep does not say how many trials it has"),
                    "--trials 20");
  plan.trials = plan.is_grid ? std::min(cells, trials.value_or(cells)) : *trials;
  return plan;
}

Option<std::vector<TrialValue>> values_of(const SweepPlan& plan, int64_t number, const Start& start) {
  for (int64_t attempt = 0; attempt < (plan.is_grid ? 1 : kAttempts); ++attempt) {
    std::vector<Value> values;
    if (plan.is_grid) values = of_grid(plan, number);
    for (size_t axis = 0; !plan.is_grid && axis < plan.axes.size(); ++axis)
      values.push_back(drawn(plan, number, axis, uint64_t(attempt)));
    std::vector<TrialValue> list = named(plan, values);
    if (keeps_rules(start, list)) return list;
  }
  return std::nullopt;
}

Str values_text(const std::vector<TrialValue>& values) {
  Str text;
  for (const TrialValue& one : values) text += fmt::format("{}{} = {}", text.empty() ? "" : ", ", one.name, one.text);
  return text;
}

}  // namespace ltr::cli
