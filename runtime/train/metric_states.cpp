#include "runtime/train/metric_states.h"

#include <ATen/ATen.h>

#include <algorithm>

#include "runtime/tensor/handle.h"
#include "runtime/train/ranks.h"

namespace ltr {

namespace {

std::vector<Tensor> handles(const MetricStates& states) {
  std::vector<Tensor> all;
  for (const at::Tensor& state : states) all.push_back(give(state));
  return all;
}

/// What came from elsewhere lies on the host.
MetricStates beside(const MetricStates& own, MetricStates states) {
  for (size_t i = 0; i < own.size(); i++) states[i] = states[i].to(own[i].device());
  return states;
}

}  // namespace

MetricStates states_of(Metric& metric) {
  MetricStates all;
  for (const Metric::State& state : metric.states()) all.push_back(aten(*state.tensor));
  return all;
}

void set_states(Metric& metric, const MetricStates& states) {
  const std::vector<Metric::State> own = metric.states();
  for (size_t i = 0; i < own.size(); i++) *own[i].tensor = give(states[i]);
}

void check_beginnings(const Str& name, Metric& metric) {
  for (const Metric::State& state : metric.states()) {
    if (state.reduce != Reduce::Sum || !aten(*state.tensor).ne(0).any().item<bool>()) continue;
    throw error_at(
        {}, err::settings_contradict,
        fmt::format("the state {} of {} is joined by `sum`, and begins with another value than 0", state.name, name));
  }
}

bool is_merged(Metric& metric) {
  const std::vector<Metric::State> states = metric.states();
  return std::any_of(states.begin(), states.end(),
                     [](const Metric::State& state) { return state.reduce == Reduce::Merge; });
}

bool gathers_apart(Metric& metric) {
  if (is_merged(metric)) return true;
  const std::vector<Metric::State> states = metric.states();
  const auto has = [&](Reduce rule) {
    return std::any_of(states.begin(), states.end(), [&](const Metric::State& state) { return state.reduce == rule; });
  };
  return (has(Reduce::Min) || has(Reduce::Max)) && !has(Reduce::Mean);
}

MetricStates joined(Metric& metric, const std::vector<MetricStates>& parts) {
  const MetricStates own = states_of(metric);
  if (is_merged(metric)) {
    MetricStates all = beside(own, parts.front());
    for (size_t part = 1; part < parts.size(); part++) {
      const std::vector<Tensor> both = metric.merge(handles(all), handles(beside(own, parts[part])));
      for (size_t i = 0; i < all.size(); i++) all[i] = aten(both[i]);
    }
    return all;
  }
  const std::vector<Metric::State> rules = metric.states();
  MetricStates all;
  for (size_t i = 0; i < rules.size(); i++) {
    std::vector<at::Tensor> of_state;
    for (const MetricStates& part : parts) of_state.push_back(part[i]);
    all.push_back(joined(of_state, rules[i].reduce).to(own[i].device()));
  }
  return all;
}

}  // namespace ltr
