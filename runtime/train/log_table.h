#pragma once

// What `log` statements gave: values of the window and of the epoch, in f64, metrics, newest values. A value
// stays where it was computed until somebody asks: the end of a recorded window, of an epoch, the bar, a hook.

#include <cmath>
#include <functional>
#include <map>
#include <vector>

#include "ltr/program.h"
#include "runtime/checkpoint/archive.h"
#include "runtime/tensor/host_read.h"
#include "runtime/train/metric_states.h"
#include "runtime/train/ranks.h"
#include "runtime/train/series_name.h"
#include "runtime/train/tally.h"

namespace ltr {

class Unpacking;

using Named = std::vector<std::pair<Str, double>>;

class LogTable {
 public:
  /// `slots`: those that the steps and callbacks of this run may write.
  LogTable(const Program& program, const Data& data, Model& model, std::vector<int> slots, const Ranks& ranks);

  /// Names of all recorded series, `train/loss`, in order of declaration.
  std::vector<Str> columns() const;

  void add(int slot, size_t stream, const at::Tensor& value, double weight);
  void add(int slot, size_t stream, double value, double weight);
  void add(int slot, size_t stream, Metric& metric);

  /// A window begins; one that is recorded keeps what metrics had before it, and what is merged begins anew.
  void begin_window(bool is_recorded);
  /// The window is over: appends its values over all ranks to `values` if it is recorded; forgets them.
  void end_window(bool is_recorded, Named& values);
  /// The epoch of `role` is over: appends means and metrics over all ranks, which are fresh then; resets.
  void end_epoch(Role role, Named& values);
  /// Matrices of metrics logged as images, since the last call: their names and values.
  std::vector<std::pair<Str, Tensor>> take_images() { return std::exchange(images_, {}); }
  /// Forgets what a round gathered (sanity, or one that was cut off).
  void drop(Role role);

  /// Whether `series` (`val.acc`) can come, and its newest value, nan before its first.
  bool has(const Str& series) const { return newest_.contains(series) || unasked_.contains(series); }
  double newest(const Str& series);
  /// "max" or "min" of it is better; "" where nothing says which.
  Str better(const Str& series) const;
  const std::map<Str, double>& all_newest();
  /// A series that is recorded without a `log`; `value` gives its newest.
  void add_unasked(const Str& series, std::function<double()> value) { unasked_[series] = std::move(value); }
  /// All that can come.
  std::vector<Str> series() const;
  /// Series that were logged with `bar`.
  void bar_values(Named& values);

  /// Sums of the epoch under way, newest values, and the states of the metrics that took something in.
  /// Metrics of `train_stream` alone: a round leaves nothing half-filled.
  void visit(Archive& archive, size_t train_stream);
  /// R2010 unless the states of metrics that `archive` has fit those here.
  void check_fits(Archive& archive, size_t train_stream);
  /// Series of training's epochs of which the checkpoint has nothing. Reading only.
  std::vector<Str> begun_anew(Archive& archive) const;
  /// Adds what another rank had: it is there no more.
  void absorb(Archive& archive, size_t train_stream);

 private:
  struct Cell {
    size_t slot = 0;
    Str series;  ///< `val.acc`
    Tally window, epoch;
    Metric* metric = nullptr;
    bool metric_has_data = false;
    bool metric_in_window = false;
    std::vector<Tensor> before;   ///< the metric's states at the window's begin
    bool is_each = false;         ///< a metric of several values
    std::vector<double*> newest;  ///< of each value; empty for what is no series
    Option<double> of_window;     ///< of one `on both`: its newest is that of an epoch, and a bar shows this

    /// The recorded name of the value `i`.
    Str column(size_t i, const Str& suffix) const {
      return recorded_name(is_each ? series_of_class(series, int64_t(i)) : series, suffix);
    }
  };
  /// A value that waits to be taken into its cell; without a cell it marks the end of a window.
  struct Waiting {
    Cell* cell;
    double weight;
  };

  /// What a metric had before the window, which adds to it when it is over.
  struct Aside {
    Metric* metric;
    MetricStates before;
  };

  Cell* cell(int slot, size_t stream) { return cells_of_slot_[size_t(slot)][stream]; }
  /// Makes a place for the newest value of each series of the cell; its metric, if it has several, is that of `stream`.
  void add_newest(Cell& cell, size_t stream);
  /// Keeps `numbers` as the newest values, and appends them under their names, `suffix` behind that of the cell.
  void record(Cell& cell, const std::vector<double>& numbers, const Str& suffix, Named& values) const;
  const LogInfo& info(const Cell& cell) const { return program_.logs[cell.slot]; }
  void keep(Cell& cell, double weight);
  /// Takes everything that waits into its cell, in the order in which it came.
  void settle();
  void take(Cell& cell, double value, double weight);
  void close_window();
  /// What a cell took in since its epoch began, of all ranks.
  struct Total {
    bool is_any = false;
    Metric* metric = nullptr;  ///< this rank's own, though it may be empty here
    Tally tally;
  };
  Total own_total(const Cell& cell) const;
  Total total_of(Unpacking& rank) const;
  /// By cell, the same on all ranks, in one exchange; only of `role` there is any. A rank whose records ran out joins with what
  /// an empty one has, so that none waits for it.
  std::vector<Total> totals(Role role) const;
  /// Each state of these metrics becomes that of all ranks, by its own rule: in one exchange, however many they are.
  void join(const std::vector<Metric*>& metrics) const;
  double number_of(const Metric& metric) const;
  Metric* metric_of(double number) const;
  bool has_data(const Metric& metric) const;
  /// What a window added to states that a function merges nothing tells afterwards: so it gathers by itself, and joins
  /// what was before when it is over. It does so recorded or not, for what is recorded must not change an epoch's bits.
  void set_aside();
  void rejoin();
  at::Tensor added(const Cell& cell, const Metric::State& state, size_t place) const;
  Str packed_window() const;
  std::vector<double> values_with(const Cell& cell, Metric& metric, const MetricStates& states) const;
  std::vector<std::pair<size_t, std::vector<double>>> window_values();
  void forget(Cell& cell);

  const Program& program_;
  Model& model_;
  int64_t streams_;
  const Ranks& ranks_;
  std::vector<Cell> cells_;
  std::vector<std::vector<Cell*>> cells_of_slot_;
  std::map<Str, double> newest_;
  std::map<Str, std::function<double()>> unasked_;
  std::vector<std::pair<Str, Tensor>> images_;
  std::vector<Aside> aside_;
  std::vector<Waiting> waiting_;
  DeviceValues values_;
};

/// Whether what is logged so has a column.
inline bool is_recorded_kind(LogKind kind) { return kind == LogKind::Scalar || kind == LogKind::Metric; }

/// The `count` numbers that `metric` has now, computed in f64; R2006 if it has not so many.
std::vector<double> metric_values(Metric& metric, size_t count, const Str& series);
/// Its tensor, in f64 or i64.
Tensor metric_tensor(Metric& metric);

}  // namespace ltr
