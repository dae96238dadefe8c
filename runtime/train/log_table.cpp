#include "runtime/train/log_table.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>

#include "runtime/tensor/handle.h"
#include "runtime/tensor/precision.h"
#include "runtime/train/feed.h"

namespace ltr {

namespace {

Str slashed(Str series) {
  std::replace(series.begin(), series.end(), '.', '/');
  return series;
}

bool is_recorded_kind(LogKind kind) { return kind == LogKind::Scalar || kind == LogKind::Metric; }

}  // namespace

nlohmann::json exact(double value) { return fmt::format("{}", value); }

double exact(const nlohmann::json& value) { return std::strtod(value.get<Str>().c_str(), nullptr); }

Tensor metric_tensor(Metric& metric) {
  const NoGrad no_grad;
  const PolicyScope f64(at::kDouble);
  return metric.compute();
}

double metric_value(Metric& metric, const Str& series) {
  const Tensor value = metric_tensor(metric);
  if (In(value)->numel() != 1) {
    throw with_help(error_here(err::settings_contradict, fmt::format("{} is not a number", series)),
                    "a matrix is logged with `log image`");
  }
  return value.item();
}

LogTable::LogTable(const Program& program, const Data& data, std::vector<int> slots) : program_(program) {
  std::sort(slots.begin(), slots.end());
  slots.erase(std::unique(slots.begin(), slots.end()), slots.end());
  cells_.reserve(slots.size() * std::max<size_t>(data.streams.size(), 1));
  cells_of_slot_.assign(program.logs.size(), std::vector<Cell*>(data.streams.size(), nullptr));
  for (const int slot : slots) {
    const LogInfo& info = program.logs[size_t(slot)];
    for (const size_t stream : streams_of(data, info.role)) {
      Cell& cell = cells_.emplace_back();
      cell.slot = size_t(slot);
      cell.series = stream_name(data, stream) + "." + info.name;
      cells_of_slot_[size_t(slot)][stream] = &cell;
      if (is_recorded_kind(info.kind)) {
        cell.newest = &newest_.emplace(cell.series, std::numeric_limits<double>::quiet_NaN()).first->second;
      }
    }
  }
}

std::vector<Str> LogTable::columns() const {
  std::vector<Str> names;
  for (const Cell& cell : cells_) {
    const LogInfo& info = program_.logs[cell.slot];
    if (!is_recorded_kind(info.kind)) continue;
    const Str name = slashed(cell.series);
    if (info.when == LogWhen::Both) {
      names.push_back(name + "_step");
      names.push_back(name + "_epoch");
    } else {
      names.push_back(name);
    }
  }
  return names;
}

void LogTable::add(int slot, size_t stream, double value, double weight) {
  Cell* cell_ptr = cell(slot, stream);
  if (cell_ptr == nullptr) return;
  Cell& cell = *cell_ptr;
  cell.step_sum += value * weight;
  cell.step_weight += weight;
  if (program_.logs[cell.slot].when == LogWhen::Step) return;
  cell.least = cell.count == 0 ? value : std::min(cell.least, value);
  cell.most = cell.count == 0 ? value : std::max(cell.most, value);
  cell.count++;
  cell.weight += weight;
  cell.sum += program_.logs[cell.slot].reduce == Reduce::Sum ? value : value * weight;
}

void LogTable::add(int slot, size_t stream, Metric& metric) {
  Cell* cell_ptr = cell(slot, stream);
  if (cell_ptr == nullptr) return;
  // In training an update sees values with a graph; kept, it would hold the graphs of all steps.
  for (const Metric::State& state : metric.states()) {
    if (In(*state.tensor)->requires_grad()) *state.tensor = give(In(*state.tensor)->detach());
  }
  cell_ptr->metric = &metric;
  cell_ptr->metric_has_data = true;
  cell_ptr->step_weight += 1;
}

double LogTable::reduced(const Cell& cell) const {
  switch (program_.logs[cell.slot].reduce) {
    case Reduce::Sum: return cell.sum;
    case Reduce::Min: return cell.least;
    case Reduce::Max: return cell.most;
    case Reduce::Mean:
    case Reduce::Cat: return cell.sum / cell.weight;
  }
  return cell.sum / cell.weight;
}

double LogTable::window_value(Cell& cell) const {
  if (cell.metric == nullptr) return cell.step_sum / cell.step_weight;
  // The batch's own value: what its update added to the sums of the epoch.
  const NoGrad no_grad;
  const std::vector<Metric::State> states = cell.metric->states();
  std::vector<Tensor> now;
  for (size_t i = 0; i < states.size(); i++) {
    now.push_back(*states[i].tensor);
    if (i >= cell.before.size()) continue;
    const In before(cell.before[i]), after(now[i]);
    if (states[i].reduce == Reduce::Sum) *states[i].tensor = guarded([&] { return give(at::sub(after, before)); });
    if (states[i].reduce == Reduce::Cat) {
      *states[i].tensor = guarded([&] { return give(after->narrow(0, before->size(0), after->size(0) - before->size(0))); });
    }
  }
  const double value = metric_value(*cell.metric, cell.series);
  for (size_t i = 0; i < states.size(); i++) *states[i].tensor = now[i];
  return value;
}

void LogTable::end_window(bool is_recorded, bool next_is_recorded, Named& values) {
  for (Cell& cell : cells_) {
    const LogInfo& info = program_.logs[cell.slot];
    if (info.when == LogWhen::Epoch || info.role != Role::Train || !is_recorded_kind(info.kind)) continue;
    if (cell.step_weight > 0) {
      if (cell.metric == nullptr) {
        const double value = cell.step_sum / cell.step_weight;
        if (info.when == LogWhen::Step) *cell.newest = value;
        if (is_recorded) values.emplace_back(slashed(cell.series) + (info.when == LogWhen::Both ? "_step" : ""), value);
      } else if (is_recorded) {
        const double value = window_value(cell);
        if (info.when == LogWhen::Step) *cell.newest = value;
        values.emplace_back(slashed(cell.series) + (info.when == LogWhen::Both ? "_step" : ""), value);
      }
    }
    cell.step_sum = 0;
    cell.step_weight = 0;
    if (cell.metric != nullptr && next_is_recorded) {
      cell.before.clear();
      for (const Metric::State& state : cell.metric->states()) {
        cell.before.push_back(guarded([&] { return give(In(*state.tensor)->clone()); }));
      }
    }
  }
}

void LogTable::end_epoch(Role role, Named& values) {
  std::vector<Metric*> done;
  for (Cell& cell : cells_) {
    const LogInfo& info = program_.logs[cell.slot];
    if (info.role != role) continue;
    cell.step_sum = 0;
    cell.step_weight = 0;
    if (cell.metric != nullptr && cell.metric_has_data) {
      if (info.kind == LogKind::Metric && info.when != LogWhen::Step) {
        const double value = metric_value(*cell.metric, cell.series);
        *cell.newest = value;
        values.emplace_back(slashed(cell.series) + (info.when == LogWhen::Both ? "_epoch" : ""), value);
      }
      if (info.kind == LogKind::Image) images_.emplace_back(slashed(cell.series), metric_tensor(*cell.metric));
      // Two statements may log one metric: it is reset when all have read it.
      done.push_back(cell.metric);
      cell.metric_has_data = false;
      cell.before.clear();
    } else if (cell.count > 0) {
      const double value = reduced(cell);
      *cell.newest = value;
      values.emplace_back(slashed(cell.series) + (info.when == LogWhen::Both ? "_epoch" : ""), value);
    }
    cell.sum = cell.weight = 0;
    cell.count = 0;
  }
  for (Metric* metric : done) metric->reset();
}

void LogTable::drop(Role role) {
  for (Cell& cell : cells_) {
    if (program_.logs[cell.slot].role != role) continue;
    if (cell.metric != nullptr) cell.metric->reset();
    cell.metric_has_data = false;
    cell.step_sum = cell.step_weight = cell.sum = cell.weight = 0;
    cell.count = 0;
  }
}

bool LogTable::has_data(const Metric& metric) const {
  return std::any_of(cells_.begin(), cells_.end(),
                     [&](const Cell& cell) { return cell.metric == &metric && cell.metric_has_data; });
}

double LogTable::newest(const Str& series) const {
  const auto found = newest_.find(series);
  return found == newest_.end() ? std::numeric_limits<double>::quiet_NaN() : found->second;
}

void LogTable::bar_values(Named& values) const {
  for (const Cell& cell : cells_) {
    if (program_.logs[cell.slot].bar && cell.newest != nullptr && !std::isnan(*cell.newest)) {
      values.emplace_back(slashed(cell.series), *cell.newest);
    }
  }
}

nlohmann::json LogTable::save() const {
  nlohmann::json saved;
  for (const Cell& cell : cells_) {
    if (cell.count == 0 && !cell.metric_has_data) continue;
    saved["cells"][cell.series] = {exact(cell.sum),  exact(cell.weight),     exact(cell.least),
                                   exact(cell.most), cell.count, cell.metric_has_data};
  }
  for (const auto& [series, value] : newest_) saved["newest"][series] = exact(value);
  return saved;
}

void LogTable::restore(const nlohmann::json& saved) {
  for (Cell& cell : cells_) {
    if (!saved.contains("cells") || !saved["cells"].contains(cell.series)) continue;
    const nlohmann::json& row = saved["cells"][cell.series];
    cell.sum = exact(row[0]);
    cell.weight = exact(row[1]);
    cell.least = exact(row[2]);
    cell.most = exact(row[3]);
    cell.count = row[4].get<int64_t>();
  }
  if (!saved.contains("newest")) return;
  for (const auto& [series, value] : saved["newest"].items()) newest_[series] = exact(value);
}

}  // namespace ltr
