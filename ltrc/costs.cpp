#include "ltrc/costs.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>

#include "dsl/check/walk.h"
#include "dsl/elaborate/elaborate.h"
#include "ltrc/layer_rows.h"
#include "ltrc/plan.h"

namespace ltr::driver {

namespace {

using check::Kind;
using elaborate::Value;

/// A step of more is counted by `ltrc plan`, which may take its time.
constexpr size_t kMostOperations = 20'000;

/// FLOP for each record; -1 if an operation or the batch is not known.
ir::CostInfo costs_of(const elaborate::Plan& plan) {
  ir::CostInfo costs;
  if (!plan.batch || *plan.batch <= 0 || !plan.broken.empty() || plan.is_cut) return costs;
  const double records = double(*plan.batch);
  for (const LayerRow& row : layer_rows(plan)) {
    const bool is_counted = row.output != nullptr && row.is_counted;
    costs.layers.push_back({row.path, row.output ? shape_text(*row.output, "B", plan.batch) : "", row.weights,
                            is_counted ? row.flops / records : -1});
  }
  const bool is_whole = std::ranges::all_of(plan.tape, [](const auto& one) { return one.flops.has_value(); });
  if (!is_whole) return costs;
  const Flops flops = count_flops(plan);
  costs.forward = flops.forward / records;
  costs.backward = flops.backward / records;
  return costs;
}

bool is_alike(const ir::CostInfo& one, const ir::CostInfo& other) {
  const auto is_near = [](double left, double right) { return std::abs(left - right) <= 1e-9 * std::abs(left); };
  return is_near(one.forward, other.forward) && is_near(one.backward, other.backward) &&
         std::ranges::equal(one.layers, other.layers, [&](const ir::LayerCost& left, const ir::LayerCost& right) {
           return left.path == right.path && left.output == right.output && left.weights == right.weights &&
                  is_near(left.flops, right.flops);
         });
}

/// Another value that an hparam may have; nothing for kinds of which one says nothing of the others.
std::optional<Value> another(const check::Hparam& hparam, const Value& value) {
  switch (hparam.type.kind) {
    case Kind::Int: return Value::of_int(value.whole == 0 ? 1 : 2 * value.whole);
    case Kind::Bool: return Value::of_bool(value.whole == 0);
    default: return std::nullopt;
  }
}

/// Rates and paths are no sizes.
bool may_size(const check::Hparam& hparam) {
  return hparam.type.kind != Kind::Float && hparam.type.kind != Kind::Path && hparam.type.kind != Kind::Series;
}

/// Whether it is part of what the model is built from: then nobody needs to try.
bool is_given_to_model(const check::Hparam& hparam, const check::Program& program,
                       const check::Experiment& experiment) {
  const std::function<bool(check::ExprId)> names = [&](check::ExprId id) {
    const auto* read = program.exprs[id].get<check::node::Hparam>();
    return (read != nullptr && read->name == hparam.name) || check::any_child(program.exprs[id], names);
  };
  return std::ranges::any_of(experiment.model_arguments, names);
}

/// Whether the costs are others where the hparam is another, or nobody knows.
bool hangs_on(const ir::CostInfo& costs, const check::Hparam& hparam, const Value& value, const check::Program& program,
              const check::Experiment& experiment, elaborate::Options options) {
  const std::optional<Value> other = another(hparam, value);
  if (!other) return true;
  options.hparams[hparam.name] = *other;
  return !is_alike(costs, costs_of(elaborate::elaborate(program, experiment, options)));
}

}  // namespace

void add_costs(const check::Program& program, const std::string& file, ir::Tables& tables) {
  elaborate::Options options;
  options.most_operations = kMostOperations;
  std::map<std::string, elaborate::Size> counted;
  options.count_characters = [&](const std::string& path) {
    const auto [place, is_new] = counted.try_emplace(path);
    if (is_new) place->second = count_characters(path, file);
    return place->second;
  };
  for (const check::Experiment& experiment : program.experiments) {
    const auto info = std::ranges::find(tables.experiments, experiment.name, &ir::ExperimentInfo::name);
    if (info == tables.experiments.end()) continue;
    const elaborate::Plan plan = elaborate::elaborate(program, experiment, options);
    info->costs = costs_of(plan);
    if (info->costs.layers.empty()) continue;
    for (const check::Hparam& hparam : program.hparams) {
      const auto value = std::ranges::find(plan.hparams, hparam.name, &std::pair<std::string, Value>::first);
      if (value == plan.hparams.end() || !may_size(hparam)) continue;
      if (is_given_to_model(hparam, program, experiment) ||
          hangs_on(info->costs, hparam, value->second, program, experiment, options))
        info->costs.rests_on.emplace_back(hparam.name, setting_text(value->second));
    }
  }
}

}  // namespace ltr::driver
