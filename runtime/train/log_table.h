#pragma once

// What `log` statements gave: values of the window, weighted means of the epoch in f64, metrics, newest values.

#include <nlohmann/json.hpp>

#include <map>
#include <unordered_map>
#include <vector>

#include "ltr/program.h"

namespace ltr {

using Named = std::vector<std::pair<Str, double>>;

class LogTable {
 public:
  /// `slots`: those that the steps and callbacks of this run may write.
  LogTable(const Program& program, const Data& data, std::vector<int> slots);

  /// Names of all recorded series, `train/loss`, in order of declaration.
  std::vector<Str> columns() const;

  void add(int slot, size_t stream, double value, double weight);
  void add(int slot, size_t stream, Metric& metric);

  /// The window is over: appends its values to `values` if it is recorded; forgets them.
  /// `next_is_recorded` prepares step values of metrics.
  void end_window(bool is_recorded, bool next_is_recorded, Named& values);
  /// The epoch of `role` is over: appends means and metrics, which are fresh then; resets.
  void end_epoch(Role role, Named& values);
  /// Matrices of metrics logged as images, since the last call: their names and values.
  std::vector<std::pair<Str, Tensor>> take_images() { return std::exchange(images_, {}); }
  /// Forgets what a round gathered (sanity, or one that was cut off).
  void drop(Role role);

  /// Whether `metric` took in something since its reset.
  bool has_data(const Metric& metric) const;
  /// Whether `series` (`val.acc`) can come, and its newest value, nan before its first.
  bool has(const Str& series) const { return newest_.contains(series); }
  double newest(const Str& series) const;
  void set_newest(const Str& series, double value) { newest_[series] = value; }
  const std::map<Str, double>& all_newest() const { return newest_; }
  /// Series that were logged with `bar`.
  void bar_values(Named& values) const;

  /// Everything that a checkpoint must keep but tensors of metrics.
  nlohmann::json save() const;
  void restore(const nlohmann::json& saved);

 private:
  struct Cell {
    size_t slot = 0;
    Str series;              ///< `val.acc`
    double step_sum = 0;
    double step_weight = 0;
    double sum = 0;
    double weight = 0;
    double least = 0;
    double most = 0;
    int64_t count = 0;       ///< values of this epoch
    Metric* metric = nullptr;
    bool metric_has_data = false;
    std::vector<Tensor> before;  ///< the metric's states at the window's begin
    double* newest = nullptr;
  };

  Cell* cell(int slot, size_t stream) { return cells_of_slot_[size_t(slot)][stream]; }
  double reduced(const Cell& cell) const;
  double window_value(Cell& cell) const;

  const Program& program_;
  std::vector<Cell> cells_;
  std::vector<std::vector<Cell*>> cells_of_slot_;
  std::map<Str, double> newest_;
  std::vector<std::pair<Str, Tensor>> images_;
};

/// The number that `metric` has now, computed in f64; R2006 if it is no number.
double metric_value(Metric& metric, const Str& series);
/// Its tensor, in f64 or i64.
Tensor metric_tensor(Metric& metric);

/// Doubles as text that reads back exactly, nan and infinities included.
nlohmann::json exact(double value);
double exact(const nlohmann::json& value);

}  // namespace ltr
