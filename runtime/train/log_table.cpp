#include "runtime/train/log_table.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include "runtime/tensor/dtype.h"
#include "runtime/tensor/handle.h"
#include "runtime/tensor/precision.h"
#include "runtime/train/feed.h"

namespace ltr {

namespace {

/// So many values wait at most: memory stays bounded when nothing is recorded for long.
constexpr size_t kMostWaiting = 4096;

}  // namespace

Tensor metric_tensor(Metric& metric) {
  const NoGrad no_grad;
  const PolicyScope f64(at::kDouble);
  return metric.compute();
}

std::vector<double> metric_values(Metric& metric, size_t count, const Str& series) {
  const Tensor value = metric_tensor(metric);
  const at::Tensor numbers = on_host(In(value)).to(at::kDouble).flatten().contiguous();
  if (size_t(numbers.numel()) != count) {
    const Str what = count == 1 ? "a number" : fmt::format("a vector of {} numbers", count);
    throw with_help(error_here(err::settings_contradict, fmt::format("{} is not {}", series, what)),
                    "a matrix is logged with `log image`");
  }
  const double* first = numbers.const_data_ptr<double>();
  return {first, first + count};
}

LogTable::LogTable(const Program& program, const Data& data, Model& model, std::vector<int> slots, const Ranks& ranks)
    : program_(program), model_(model), streams_(int64_t(data.streams.size())), ranks_(ranks) {
  std::sort(slots.begin(), slots.end());
  slots.erase(std::unique(slots.begin(), slots.end()), slots.end());
  cells_.reserve(slots.size() * std::max<size_t>(data.streams.size(), 1));
  cells_of_slot_.assign(program.logs.size(), std::vector<Cell*>(data.streams.size(), nullptr));
  // Two branches may log one series, each with a statement of its own.
  const auto is_alike = [&](const LogInfo& one, const LogInfo& other) {
    return one.kind == other.kind && one.when == other.when && one.reduce == other.reduce;
  };
  const auto add_cell = [&](int slot, size_t stream, Str series) {
    for (Cell& known : cells_) {
      if (known.series == series && is_alike(info(known), program_.logs[size_t(slot)])) return &known;
    }
    Cell& cell = cells_.emplace_back();
    cell.slot = size_t(slot);
    cell.series = std::move(series);
    if (is_recorded_kind(info(cell).kind)) add_newest(cell, stream);
    return &cell;
  };
  for (const int slot : slots) {
    const LogInfo& info = program.logs[size_t(slot)];
    std::vector<Cell*>& of_stream = cells_of_slot_[size_t(slot)];
    const std::vector<size_t> streams = streams_of(data, info.role);
    if (streams.empty()) continue;
    const bool is_of_role = streams.size() == 1 && data.streams[streams.front()].name[0] == '\0';
    if (info.is_whole || is_of_role) {
      // The hooks of an epoch run in no stream: whatever ran last, the value is the role's.
      Cell* whole = add_cell(slot, streams.front(), Str(role_name(info.role)) + "." + info.name);
      std::fill(of_stream.begin(), of_stream.end(), whole);
      continue;
    }
    for (const size_t stream : streams)
      of_stream[stream] = add_cell(slot, stream, stream_name(data, stream) + "." + info.name);
  }
}

void LogTable::add_newest(Cell& cell, size_t stream) {
  const auto add = [&](const Str& series) {
    cell.newest.push_back(&newest_.emplace(series, std::numeric_limits<double>::quiet_NaN()).first->second);
  };
  const Str each = info(cell).each;
  for (const Model::MetricMember& member : model_.metrics) {
    if (each != member.name) continue;
    const int64_t length = member.of(model_, int64_t(stream)).ltr_length();
    cell.is_each = length >= 0;
    for (int64_t i = 0; i < length; i++) add(series_of_class(cell.series, i));
  }
  if (!cell.is_each) add(cell.series);
}

Str LogTable::better(const Str& series) const {
  const Str all = series.substr(0, series.find('['));  // Of one class it is what it is of the metric.
  const auto says = [&](const Cell& cell) { return cell.series == all && *info(cell).better != '\0'; };
  const auto found = std::find_if(cells_.begin(), cells_.end(), says);
  return found == cells_.end() ? "" : info(*found).better;
}

std::vector<Str> LogTable::columns() const {
  std::vector<Str> names;
  for (const Cell& cell : cells_) {
    const std::vector<Str> suffixes =
        info(cell).when == LogWhen::Both ? std::vector<Str>{kStepSuffix, kEpochSuffix} : std::vector<Str>{""};
    for (const Str& suffix : suffixes) {
      for (size_t i = 0; i < cell.newest.size(); i++) names.push_back(cell.column(i, suffix));
    }
  }
  return names;
}

void LogTable::record(Cell& cell, const std::vector<double>& numbers, const Str& suffix, Named& values) const {
  for (size_t i = 0; i < numbers.size(); i++) {
    // Of a log on both the newest value is that of the epoch.
    if (suffix != kStepSuffix) *cell.newest[i] = numbers[i];
    values.emplace_back(cell.column(i, suffix), numbers[i]);
  }
}

// ---- taking in -----------------------------------------------------------------------------------------------

void LogTable::keep(Cell& cell, double weight) {
  waiting_.push_back({&cell, weight});
  if (waiting_.size() >= kMostWaiting) settle();
}

void LogTable::add(int slot, size_t stream, const at::Tensor& value, double weight) {
  Cell* place = cell(slot, stream);
  if (place == nullptr) return;
  values_.keep(value);
  keep(*place, weight);
}

void LogTable::add(int slot, size_t stream, double value, double weight) {
  Cell* place = cell(slot, stream);
  if (place == nullptr) return;
  values_.keep(value);
  keep(*place, weight);
}

void LogTable::add(int slot, size_t stream, Metric& metric) {
  Cell* place = cell(slot, stream);
  if (place == nullptr) return;
  place->metric = &metric;
  place->metric_has_data = true;
  place->metric_in_window = true;
}

void LogTable::settle() {
  if (waiting_.empty()) return;
  const std::span<const double> numbers = values_.read();
  size_t next = 0;
  for (const Waiting& one : waiting_) {
    if (one.cell == nullptr) {
      close_window();
    } else {
      take(*one.cell, numbers[next++], one.weight);
    }
  }
  waiting_.clear();
  values_.clear();
}

void LogTable::take(Cell& cell, double value, double weight) {
  const LogInfo& about = info(cell);
  cell.window.add(value, weight, about.reduce);
  if (about.when != LogWhen::Step) cell.epoch.add(value, weight, about.reduce);
}

void LogTable::close_window() {
  for (Cell& cell : cells_) {
    const LogInfo& about = info(cell);
    if (about.role != Role::Train || about.when == LogWhen::Epoch) continue;
    if (cell.window.has_value(about.reduce) && !cell.newest.empty()) {
      const double value = cell.window.value(about.reduce);
      if (about.when == LogWhen::Step)
        *cell.newest.front() = value;
      else
        cell.of_window = value;
    }
    cell.window = {};
  }
}

// ---- giving out ----------------------------------------------------------------------------------------------

bool LogTable::has_data(const Metric& metric) const {
  return std::any_of(cells_.begin(), cells_.end(),
                     [&](const Cell& cell) { return cell.metric == &metric && cell.metric_has_data; });
}

void LogTable::set_aside() {
  rejoin();
  for (const Cell& cell : cells_) {
    const bool is_of_window = info(cell).role == Role::Train && info(cell).when != LogWhen::Epoch;
    if (!is_of_window || !cell.metric_has_data || !gathers_apart(*cell.metric)) continue;
    const bool is_aside =
        std::any_of(aside_.begin(), aside_.end(), [&](const Aside& one) { return one.metric == cell.metric; });
    if (is_aside) continue;
    aside_.push_back({cell.metric, states_of(*cell.metric)});
    cell.metric->reset();
  }
}

void LogTable::rejoin() {
  for (const Aside& one : aside_) {
    const bool has_more = std::any_of(cells_.begin(), cells_.end(), [&](const Cell& cell) {
      return cell.metric == one.metric && cell.metric_in_window;
    });
    MetricStates all = one.before;
    if (has_more) all = guarded([&] { return joined(*one.metric, {one.before, states_of(*one.metric)}); });
    set_states(*one.metric, all);
  }
  aside_.clear();
}

void LogTable::begin_window(bool is_recorded) {
  set_aside();
  if (!is_recorded) return;
  for (Cell& cell : cells_) {
    cell.before.clear();
    if (cell.metric == nullptr || info(cell).when == LogWhen::Epoch || info(cell).role != Role::Train) continue;
    for (const Metric::State& state : cell.metric->states()) {
      // Of what is appended to, only its length is asked for.
      cell.before.push_back(state.reduce == Reduce::Cat ? *state.tensor
                                                        : guarded([&] { return give(In(*state.tensor)->clone()); }));
    }
  }
}

void LogTable::end_window(bool is_recorded, Named& values) {
  if (is_recorded) {
    settle();
    const auto all = guarded([&] { return window_values(); });
    close_window();
    for (const auto& [place, numbers] : all)
      record(cells_[place], numbers, info(cells_[place]).when == LogWhen::Both ? kStepSuffix : "", values);
  } else if (!waiting_.empty()) {
    waiting_.push_back({nullptr, 0});
  }
  rejoin();
  for (Cell& cell : cells_) {
    if (info(cell).role == Role::Train) cell.metric_in_window = false;
  }
}

void LogTable::end_epoch(Role role, Named& values) {
  settle();
  rejoin();
  const std::vector<Total> all = totals(role);
  // Two statements may log one metric: it is joined once, and reset when all have read it.
  std::vector<Metric*> metrics;
  for (const Total& one : all) {
    if (one.metric != nullptr && std::find(metrics.begin(), metrics.end(), one.metric) == metrics.end())
      metrics.push_back(one.metric);
  }
  guarded([&] { join(metrics); });
  for (size_t i = 0; i < all.size(); i++) {
    Cell& cell = cells_[i];
    const LogInfo& about = info(cell);
    if (about.role != role) continue;
    const Str suffix = about.when == LogWhen::Both ? kEpochSuffix : "";
    if (Metric* metric = all[i].metric; metric != nullptr) {
      if (about.kind == LogKind::Metric && about.when != LogWhen::Step)
        record(cell, metric_values(*metric, cell.newest.size(), cell.series), suffix, values);
      if (about.kind == LogKind::Image) images_.emplace_back(recorded_name(cell.series), metric_tensor(*metric));
    } else if (all[i].is_any) {
      record(cell, {all[i].tally.value(about.reduce)}, suffix, values);
    }
    forget(cell);
  }
  for (Metric* metric : metrics) metric->reset();
}

void LogTable::forget(Cell& cell) {
  cell.window = cell.epoch = {};
  cell.metric_has_data = cell.metric_in_window = false;
  cell.before.clear();
}

void LogTable::drop(Role role) {
  settle();
  rejoin();
  for (Cell& cell : cells_) {
    if (info(cell).role != role) continue;
    if (cell.metric != nullptr) cell.metric->reset();
    forget(cell);
  }
}

double LogTable::newest(const Str& series) {
  if (const auto unasked = unasked_.find(series); unasked != unasked_.end()) return unasked->second();
  settle();
  const auto found = newest_.find(series);
  return found == newest_.end() ? std::numeric_limits<double>::quiet_NaN() : found->second;
}

std::vector<Str> LogTable::series() const {
  std::vector<Str> names;
  for (const auto& [name, value] : newest_) names.push_back(name);
  for (const auto& [name, value] : unasked_) names.push_back(name);
  return names;
}

const std::map<Str, double>& LogTable::all_newest() {
  settle();
  return newest_;
}

void LogTable::bar_values(Named& values) {
  settle();
  for (const Cell& cell : cells_) {
    if (!info(cell).bar || cell.is_each || cell.newest.empty()) continue;
    if (cell.of_window)
      values.emplace_back(recorded_name(cell.series, kStepSuffix), *cell.of_window);
    else if (!std::isnan(*cell.newest.front()))
      values.emplace_back(recorded_name(cell.series), *cell.newest.front());
  }
}

// ---- checkpoints ---------------------------------------------------------------------------------------------

namespace {

/// The name in checkpoints.
Str state_name(const Str& member, const Metric::State& state) {
  return fmt::format("metric.{}.{}", member, state.name);
}

/// Whether values of these shapes can be one state: what is appended to may be longer.
bool are_alike(const at::Tensor& there, const at::Tensor& here, Reduce how) {
  if (there.scalar_type() != here.scalar_type() || there.dim() != here.dim()) return false;
  const size_t first = how == Reduce::Cat && here.dim() > 0 ? 1 : 0;
  return there.sizes().slice(first) == here.sizes().slice(first);
}

void check_states(const Archive& archive, const Str& member, Metric& metric) {
  for (const Metric::State& state : metric.states()) {
    const at::Tensor there = archive.shape_of(state_name(member, state)), here = aten(*state.tensor);
    if (there.defined() && are_alike(there, here, state.reduce)) continue;
    const auto text = [](const at::Tensor& one) {
      return one.defined() ? shape_text(one.scalar_type(), one.sizes()) : "nothing";
    };
    throw with_help(
        error_at({}, err::checkpoint_misfit,
                 fmt::format("the metric {} keeps {} as {} here, and as {} in the checkpoint", member, state.name,
                             text(here), text(there))),
        "resume with the metric that the run had, or from a checkpoint of an epoch's end, where metrics begin anew");
  }
}

}  // namespace

void LogTable::visit(Archive& archive, size_t train_stream) {
  settle();
  rejoin();
  const Archive::Part logs(archive, "logs");
  std::set<const Metric*> visited;
  {
    const Archive::Part cells(archive, "cells");
    for (Cell& cell : cells_) {
      const bool is_open = cell.epoch.count > 0 || cell.metric_has_data;
      if (archive.is_reading() ? !archive.has(cell.series) : !is_open) continue;
      const Archive::Part part(archive, cell.series);
      archive.value("sum", cell.epoch.sum);
      archive.value("weight", cell.epoch.weight);
      archive.value("least", cell.epoch.least);
      archive.value("most", cell.epoch.most);
      archive.value("count", cell.epoch.count);
      Str member;
      for (const Model::MetricMember& one : model_.metrics) {
        if (cell.metric_has_data && &one.of(model_, int64_t(train_stream)) == cell.metric) member = one.name;
      }
      archive.value("metric", member);
      for (const Model::MetricMember& one : model_.metrics) {
        if (member != one.name) continue;
        cell.metric = &one.of(model_, int64_t(train_stream));
        cell.metric_has_data = true;
        // Several statements may log one metric; its states are there once.
        if (!visited.insert(cell.metric).second) continue;
        for (const Metric::State& state : cell.metric->states()) {
          at::Tensor tensor = archive.is_reading() ? at::Tensor() : aten(*state.tensor);
          archive.tensor(state_name(member, state), tensor);
          if (archive.is_reading()) *state.tensor = give(tensor);
        }
      }
    }
  }
  const Archive::Part newest(archive, "newest");
  for (auto& [series, value] : newest_) {
    if (!archive.is_reading() || archive.has(series)) archive.value(series, value);
  }
}

void LogTable::check_fits(Archive& archive, size_t train_stream) {
  const Archive::Part logs(archive, "logs");
  const Archive::Part cells(archive, "cells");
  for (const Cell& cell : cells_) {
    if (!archive.has(cell.series)) continue;
    const Archive::Part part(archive, cell.series);
    Str member;
    archive.value("metric", member);
    for (const Model::MetricMember& one : model_.metrics) {
      if (member == one.name) check_states(archive, member, one.of(model_, int64_t(train_stream)));
    }
  }
}

std::vector<Str> LogTable::begun_anew(Archive& archive) const {
  const Archive::Part logs(archive, "logs");
  const Archive::Part cells(archive, "cells");
  std::vector<Str> missing;
  for (const Cell& cell : cells_) {
    const bool is_of_epoch = info(cell).role == Role::Train && info(cell).when != LogWhen::Step;
    if (is_of_epoch && !archive.has(cell.series)) missing.push_back(cell.series);
  }
  return missing;
}

void LogTable::absorb(Archive& archive, size_t train_stream) {
  const std::vector<Cell> own = cells_;
  const std::map<Str, double> newest = newest_;
  std::map<Metric*, MetricStates> own_states;
  for (const Cell& cell : own) {
    if (cell.metric_has_data) own_states[cell.metric] = states_of(*cell.metric);
  }
  for (Cell& cell : cells_) forget(cell);
  visit(archive, train_stream);
  for (size_t i = 0; i < cells_.size(); i++) {
    Cell& cell = cells_[i];
    const Cell& before = own[i];
    cell.epoch.add(before.epoch);
    if (before.metric_has_data) {
      cell.metric = before.metric;
      cell.metric_has_data = true;
    }
  }
  for (const auto& [metric, before] : own_states) {
    const MetricStates now = states_of(*metric);
    // One that the other rank did not have is as it was.
    if (now.empty() || now.front().is_same(before.front())) continue;
    set_states(*metric, guarded([&] { return joined(*metric, {before, now}); }));
  }
  for (auto& [series, value] : newest_) value = newest.at(series);
}

}  // namespace ltr
