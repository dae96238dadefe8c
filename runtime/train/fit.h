#pragma once

// One run of `fit`: the loop and what it keeps between windows.

#include <chrono>
#include <memory>
#include <optional>
#include <vector>

#include "runtime/callbacks/early_stop.h"
#include "runtime/callbacks/ema.h"
#include "runtime/callbacks/grad_norm.h"
#include "runtime/callbacks/keeper.h"
#include "runtime/checkpoint/folder.h"
#include "runtime/train/session.h"
#include "runtime/train/signals.h"
#include "runtime/train/windows.h"

namespace ltr {

using Clock = std::chrono::steady_clock;

inline double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

/// How far training is. All of it is in every checkpoint.
struct Position {
  int64_t epoch = 0;        ///< the epoch under way, or the next one
  int64_t batch = 0;        ///< batches of it that are done
  int64_t global_step = 0;
  int64_t batch_counter = 0;  ///< batches in all
  int64_t samples = 0;
  int64_t round_step = -1;    ///< `global_step` of the last round
  double round_time_s = 0;    ///< training time at the last round
  double train_s = 0;         ///< training time over all resumes
};

/// Why a window or epoch is the last.
enum class Leave : uint8_t { No, EpochOver, Planned, Now };

class Fit {
 public:
  explicit Fit(RunRequest& request);
  ~Fit();
  FitReport run();

 private:
  // Start.
  void check_settings() const;
  void find_counted_field();
  void make_listeners();
  bool is_max(const Str& series, const Str& mode, const Location& location) const;
  void check_series(const Str& series, const Str& who, const Location& location) const;
  std::vector<Str> columns() const;

  // The loop.
  void sanity_round();
  void train();
  Leave train_epoch(int64_t epoch);
  bool run_window(int64_t batches_of_epoch);
  bool next_batch();
  double nominal_weight(int64_t batch) const;
  double weight_of(const Batch& batch) const;
  Leave why_leave() const;
  void end_train_epoch(Leave leave);
  void round();
  bool round_is_due_in_epoch(int64_t batches_of_epoch) const;
  bool round_is_due_by_epoch() const;
  void try_other_steps();

  // Recording: one row of values for each step.
  bool is_recorded(int64_t step) const;
  bool is_regular(int64_t step) const;
  void record_step();
  void flush_row();
  void rates(const Optimizer& optimizer, Named& values) const;
  bool measures_grads_of(const Optimizer& optimizer) const;
  void measure_throughput();
  void tell_time();

  // Listeners.
  void tell_fresh(Role role);
  void save_if_due(bool epoch_ended);
  void write_wanted();  ///< checkpoints that hooks asked for by `save`
  Str write(const Str& name, bool weights_only);
  void let_go(const std::vector<Str>& names);
  void final_checkpoint();
  void fail(const Error& error);
  void fill(FitReport& report);

  // Checkpoints.
  nlohmann::json manifest() const;
  CheckpointData snapshot(bool weights_only) const;
  void resume();
  void report_changes(const nlohmann::json& saved) const;
  Str checkpoints_dir() const { return request_.run_dir + "/checkpoints"; }

  RunRequest& request_;
  const TrainerSettings& settings_;
  Session cx_;
  const StepInfo* train_step_;
  const StepInfo* val_step_;
  size_t train_stream_ = 0;
  std::vector<size_t> val_streams_;
  std::unique_ptr<Feed> feed_;
  std::unique_ptr<Windows> windows_;
  int counts_field_ = -1;          ///< of `weigh = count(…)`, -1 for other weights
  int64_t counts_ignore_ = -100;

  std::vector<EarlyStop> early_stops_;
  std::optional<GradNorm> grad_norm_;
  std::unique_ptr<Ema> ema_;       ///< null without the callback
  std::vector<CheckpointKeeper> keepers_;
  bool wants_group_rates_ = false;
  bool counts_tokens_ = false;
  int64_t throughput_window_ = 0;  ///< in steps; 0: not wanted
  int64_t throughput_step_ = 0;
  int64_t throughput_items_ = 0;
  Clock::time_point throughput_time_;

  Position at_;
  Batch batch_;
  Named row_;                      ///< values of this step that wait to be recorded
  Named last_row_;                 ///< likewise, recorded only because the run ends at this step
  Named kept_row_;                 ///< what was recorded for `kept_step_`; a resumed run writes the row again
  int64_t kept_step_ = -1;
  int64_t kept_epoch_ = 0;
  bool keeps_position_ = false;    ///< the newest checkpoint stands in the middle of the last epoch, and stays the newest
  Clock::time_point began_;
  double train_before_s_ = 0;      ///< at_.train_s when this process began
  bool is_stopping_ = false;
  Str outcome_ = "finished";
  Str reason_;
  Str last_saved_;                 ///< name of the newest checkpoint
  Str resumed_from_;
  int64_t saved_step_ = -1;
  int64_t timer_epochs_ = 0;       ///< of Timer; 0: not wanted, and nothing is timed
  double data_s_ = 0;              ///< waiting for the feed, where it is timed
  double val_s_ = 0;
  double checkpoint_s_ = 0;
};

/// One pass over `streams` of `role`, without gradients, in evaluation mode; the logs of the role are filled.
/// `batches`: at most so many per stream, -1: all.
void pass(Session& cx, const StepInfo& step, const std::vector<size_t>& streams, int64_t batches,
          std::vector<int64_t>* samples = nullptr);

}  // namespace ltr
