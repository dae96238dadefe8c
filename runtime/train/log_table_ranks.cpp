#include <ATen/ATen.h>

#include <algorithm>

#include "runtime/tensor/handle.h"
#include "runtime/train/log_table.h"
#include "runtime/train/packed.h"

// What ranks logged together: of an epoch in two exchanges at most, of a window in one, however much it is.

namespace ltr {

// Numbers of metrics, the same on all ranks: by member, then by stream. 0 is nothing, 1 a value.
constexpr double kNothing = 0;
constexpr double kValue = 1;
constexpr double kFirstMetric = 2;

double LogTable::number_of(const Metric& metric) const {
  for (size_t member = 0; member < model_.metrics.size(); member++) {
    for (int64_t stream = 0; stream < streams_; stream++) {
      if (&model_.metrics[member].of(model_, stream) == &metric)
        return kFirstMetric + double(int64_t(member) * streams_ + stream);
    }
  }
  throw error_here(err::settings_contradict, "a metric that is no member of the model is logged by several processes");
}

Metric* LogTable::metric_of(double number) const {
  const auto place = int64_t(number - kFirstMetric);
  return &model_.metrics[size_t(place / streams_)].of(model_, place % streams_);
}

namespace {

void pack_tally(Str& out, const Tally& tally) {
  for (const double number : {tally.sum, tally.weight, tally.least, tally.most}) pack(out, number);
  pack(out, tally.count);
}

Tally tally_of(Unpacking& rank) {
  Tally tally;
  for (double* number : {&tally.sum, &tally.weight, &tally.least, &tally.most}) *number = rank.real();
  tally.count = rank.number();
  return tally;
}

}  // namespace

LogTable::Total LogTable::own_total(const Cell& cell) const {
  Total total;
  total.is_any = cell.metric_has_data || cell.epoch.count > 0;
  total.metric = cell.metric_has_data ? cell.metric : nullptr;
  total.tally = cell.epoch;
  return total;
}

LogTable::Total LogTable::total_of(Unpacking& rank) const {
  const double what = rank.real();
  Total total;
  total.is_any = what != kNothing;
  total.metric = what >= kFirstMetric ? metric_of(what) : nullptr;
  total.tally = tally_of(rank);
  return total;
}

std::vector<LogTable::Total> LogTable::totals(Role role) const {
  std::vector<Total> all(cells_.size());
  for (size_t i = 0; i < all.size(); i++) {
    if (info(cells_[i]).role == role) all[i] = own_total(cells_[i]);
  }
  if (ranks_.world() == 1) return all;
  Str own;
  for (const Total& one : all) {
    pack(own, one.metric != nullptr ? number_of(*one.metric) : one.is_any ? kValue : kNothing);
    pack_tally(own, one.tally);
  }
  const std::vector<Str> texts = ranks_.texts(own);
  std::vector<Unpacking> ranks(texts.begin(), texts.end());
  for (Total& one : all) {
    one = total_of(ranks.front());
    for (size_t rank = 1; rank < ranks.size(); rank++) {
      const Total other = total_of(ranks[rank]);
      one.is_any = one.is_any || other.is_any;
      if (other.metric != nullptr) one.metric = other.metric;
      one.tally.add(other.tally);
    }
  }
  return all;
}

namespace {

MetricStates unpacked(Unpacking& rank, Metric& metric) {
  MetricStates states(metric.states().size());
  for (at::Tensor& state : states) state = rank.tensor();
  return states;
}

}  // namespace

void LogTable::join(const std::vector<Metric*>& metrics) const {
  if (metrics.empty() || ranks_.world() == 1) return;
  Str own;
  for (Metric* metric : metrics) {
    pack(own, int64_t(has_data(*metric)));
    if (!has_data(*metric)) continue;
    for (const at::Tensor& state : states_of(*metric)) pack(own, state);
  }
  const std::vector<Str> texts = ranks_.texts(own);
  std::vector<Unpacking> ranks(texts.begin(), texts.end());
  for (Metric* metric : metrics) {
    std::vector<MetricStates> parts;
    for (Unpacking& rank : ranks) {
      if (rank.number() != 0) parts.push_back(unpacked(rank, *metric));
    }
    set_states(*metric, joined(*metric, parts));
  }
}

/// What the window added to a state: a batch's own value is what its update added to the sums of the epoch.
at::Tensor LogTable::added(const Cell& cell, const Metric::State& state, size_t place) const {
  const In now(*state.tensor);
  if (place >= cell.before.size()) return now;
  const In before(cell.before[place]);
  if (state.reduce == Reduce::Sum) return at::sub(now, before);
  if (state.reduce == Reduce::Cat) return now->narrow(0, before->size(0), now->size(0) - before->size(0));
  return now;
}

/// Of every cell that is recorded by step: nothing, its numbers, or a metric and what was added to its states.
Str LogTable::packed_window() const {
  Str out;
  for (const Cell& cell : cells_) {
    const bool is_due =
        info(cell).role == Role::Train && info(cell).when != LogWhen::Epoch && is_recorded_kind(info(cell).kind);
    const bool has_metric = is_due && cell.metric != nullptr && cell.metric_in_window;
    const bool has_value = is_due && cell.metric == nullptr && cell.window.count > 0;
    pack(out, int64_t(has_metric ? number_of(*cell.metric) : has_value ? kValue : kNothing));
    if (has_value) pack_tally(out, cell.window);
    if (!has_metric) continue;
    const std::vector<Metric::State> states = cell.metric->states();
    for (size_t i = 0; i < states.size(); i++) pack(out, added(cell, states[i], i));
  }
  return out;
}

/// The values that `metric` has with these states alone.
std::vector<double> LogTable::values_with(const Cell& cell, Metric& metric, const MetricStates& states) const {
  const NoGrad no_grad;
  const MetricStates now = states_of(metric);
  set_states(metric, states);
  std::vector<double> values = metric_values(metric, cell.newest.size(), cell.series);
  set_states(metric, now);
  return values;
}

/// The window of all ranks, in one exchange: the values of each cell that took something in on any of them.
std::vector<std::pair<size_t, std::vector<double>>> LogTable::window_values() {
  const std::vector<Str> texts = ranks_.texts(packed_window());
  std::vector<Unpacking> ranks(texts.begin(), texts.end());
  std::vector<std::pair<size_t, std::vector<double>>> values;
  for (size_t i = 0; i < cells_.size(); i++) {
    Tally all;
    Metric* metric = nullptr;
    std::vector<MetricStates> parts;  // what each rank added
    for (Unpacking& rank : ranks) {
      const auto what = double(rank.number());
      if (what == kValue) {
        all.add(tally_of(rank));
      } else if (what >= kFirstMetric) {
        metric = metric_of(what);
        parts.push_back(unpacked(rank, *metric));
      }
    }
    if (metric != nullptr) {
      values.emplace_back(i, guarded([&] { return values_with(cells_[i], *metric, joined(*metric, parts)); }));
    } else if (const Reduce how = info(cells_[i]).reduce; all.has_value(how)) {
      values.emplace_back(i, std::vector<double>{all.value(how)});
    }
  }
  return values;
}

}  // namespace ltr
