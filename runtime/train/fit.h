#pragma once

// One run of `fit`: the loop and what it holds together. What must survive a stop is in RunState.

#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "runtime/callbacks/make.h"
#include "runtime/train/epoch_parts.h"
#include "runtime/train/profile.h"
#include "runtime/train/saver.h"
#include "runtime/train/session.h"
#include "runtime/train/signals.h"
#include "runtime/train/window_runner.h"

namespace ltr {

/// Why a window or epoch is the last.
enum class Leave : uint8_t { No, EpochOver, Planned, Now };

class Fit {
 public:
  explicit Fit(RunRequest& request);
  ~Fit();
  /// Whether the run may go on from the checkpoint; nothing is changed yet.
  void open_checkpoint();
  FitReport run();

 private:
  // The loop: fit.cpp.
  void sanity_round();
  void train();
  Leave train_epoch(Leave leave);
  bool run_window(int64_t batches_of_epoch);
  void record_window();
  void show_values();
  Leave settle_window(int64_t batches_of_epoch);
  Leave close_epoch(Leave leave);
  bool round(Named& row);
  void last_round();
  void border(bool epoch_ended);
  void flush_row();
  Leave why_leave() const;
  bool is_last_epoch(int64_t epoch) const { return settings_.epochs >= 0 && epoch >= settings_.epochs; }
  bool round_is_due_in_epoch(int64_t batches_of_epoch);
  bool round_is_due_by_epoch(int64_t epochs_done) const;
  /// Notes the rate of the update that was made, before a callback sets that of the next one.
  /// The rate of the last update; before the first, that of the first.
  double last_rate(size_t optimizer) const;
  bool is_recorded(int64_t step) const { return is_regular(step) || step == windows_->planned(); }
  bool is_regular(int64_t step) const { return step == 1 || step % std::max<int64_t>(settings_.log_every, 1) == 0; }
  void try_other_steps();

  // Start and end: fit_start.cpp, fit_end.cpp.
  void check_settings() const;
  /// Warns of settings that come to nothing with these data.
  void tell_idle_settings();
  std::vector<Str> columns() const;
  void resume();
  void change_world(int64_t before, const StoredState& saved);
  void begin_elsewhere(int64_t world_before);
  void check_data(const nlohmann::json& saved) const;
  void check_state(const nlohmann::json& saved);
  void report_changes(const nlohmann::json& saved);
  void fail(const Error& error);
  /// The same, with the step and the batch size where memory ran out in one.
  Error with_step(const Error& error) const;
  void fill(FitReport& report);

  RunRequest& request_;
  const TrainerSettings& settings_;
  Session cx_;
  const StepInfo* train_step_;
  const StepInfo* val_step_;
  size_t train_stream_;
  std::vector<size_t> val_streams_;
  std::unique_ptr<Feed> feed_;
  std::unique_ptr<Windows> windows_;
  Option<EpochParts> val_parts_;  ///< of `val_every = 1.5 epochs`
  RunState state_;
  Position& at_;
  WindowRunner window_;
  Times times_;
  Saver saver_;
  std::optional<Profile> profile_;
  nlohmann::json manifest_;                   ///< of the checkpoint that the run goes on from
  std::map<Str, at::Tensor> opened_weights_;  ///< in it
  double trained_s_ = 0;         ///< when the last checkpoint was there: what hooks of the end take is none of it
  int64_t shown_step_ = -1;      ///< whose values the bar has
  bool ends_otherwise_ = false;  ///< what this run has changed may be what ended the one that it goes on from
};

/// One pass over `streams` of `role`, without gradients, in evaluation mode; the logs of the role are filled.
/// `batches`: at most so many per stream, -1: all. A signal ends it early.
void pass(Session& cx, const StepInfo& step, const std::vector<size_t>& streams, int64_t batches,
          std::vector<int64_t>* samples = nullptr);

}  // namespace ltr
