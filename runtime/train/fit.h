#pragma once

// One run of `fit`: the loop and what it keeps between windows.

#include <chrono>
#include <memory>
#include <vector>

#include "runtime/callbacks/early_stop.h"
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
  FitReport run();

 private:
  // start
  void check_settings() const;
  void make_listeners();
  void start_feeds();
  bool is_max(const Str& series, const Str& mode, const Location& location) const;
  void check_series(const Str& series, const Str& who, const Location& location) const;

  // the loop
  void sanity_round();
  void train();
  Leave train_epoch(int64_t epoch);
  bool run_window(int64_t batches_of_epoch);
  double row_weight(int64_t batch, const Batch* loaded) const;
  void after_window();
  void end_train_epoch(int64_t epoch, Leave leave);
  void round();
  bool round_is_due_in_epoch(int64_t batches_of_epoch) const;
  bool round_is_due_by_epoch() const;
  Leave why_leave() const;
  bool is_recorded(int64_t step) const;
  void record_step();

  // listeners
  void tell_fresh(Role role, bool epoch_ended);
  void save_if_due(bool epoch_ended, bool window_ended);
  Str write(const Str& name, bool weights_only);
  void final_checkpoint();
  void throughput(Named& values);

  // resume
  nlohmann::json manifest() const;
  CheckpointData snapshot(bool weights_only) const;
  void resume();
  void report(FitReport& report);

  RunRequest& request_;
  const TrainerSettings& settings_;
  Session cx_;
  const StepInfo* train_step_;
  const StepInfo* val_step_;
  size_t train_stream_ = 0;
  std::vector<size_t> val_streams_;
  std::unique_ptr<Feed> feed_;
  std::unique_ptr<Windows> windows_;
  std::vector<EarlyStop> early_stops_;
  std::vector<CheckpointKeeper> keepers_;
  bool wants_group_rates_ = false;
  int64_t throughput_window_ = 0;  ///< steps; 0: not wanted
  bool counts_tokens_ = false;
  int64_t throughput_step_ = 0;
  int64_t throughput_items_ = 0;
  int64_t items_ = 0;
  Clock::time_point throughput_time_;

  Position at_;
  Clock::time_point began_;
  double train_before_s_ = 0;      ///< at_.train_s when this process began
  bool is_stopping_ = false;
  bool is_interrupted_ = false;
  Str outcome_ = "finished";
  Str reason_;
  Str last_saved_;                 ///< name of the newest checkpoint
  int64_t saved_step_ = -1;
  double val_s_ = 0;
  double checkpoint_s_ = 0;
  Batch batch_;
  Named row_;                      ///< values of this step that wait to be recorded
};

/// One pass over `streams` of `role`, without gradients, in evaluation mode; the logs of the role are filled.
/// `batches`: at most so many per stream, -1: all.
void pass(Session& cx, const StepInfo& step, const std::vector<size_t>& streams, int64_t batches,
          std::vector<int64_t>* samples = nullptr);

}  // namespace ltr
