#pragma once

// Where a run stands, beside its weights. All of it is in every checkpoint, through one `visit`.

#include <chrono>

#include "runtime/callbacks/listener.h"
#include "runtime/train/log_table.h"
#include "runtime/train/outcome.h"
#include "runtime/train/planned_forms.h"
#include "runtime/train/root_state.h"
#include "runtime/train/rows.h"
#include "runtime/train/step_threads.h"
#include "runtime/train/trainer.h"

namespace ltr {

class FiniteGate;
class LossScale;
class MetricInputs;
class LeftOutRecords;

/// What tells the position of one checkpoint from another's.
struct Place {
  int64_t step = -1;
  int64_t epoch = 0;
  int64_t batch = 0;
  int64_t begun = 0;
  bool round_is_due = false;

  bool operator==(const Place&) const = default;
};

/// How far training is.
struct Position {
  int64_t epoch = 0;  ///< the epoch under way, or the next one
  int64_t batch = 0;  ///< batches of it that are done, on each rank
  int64_t begun = 0;  ///< before these, batches of it that as many other ranks did
  int64_t global_step = 0;
  int64_t batch_counter = 0;  ///< batches in all; with the seed it keys every draw of a step
  int64_t batch_size = 0;     ///< nominal, of each
  int64_t samples = 0;
  int64_t round_step = -1;    ///< `global_step` of the last round
  double round_time_s = 0;    ///< training time at the last round
  double train_s = 0;         ///< training time over all resumes
  bool round_is_due = false;  ///< after the last window a round was due that is not done
  bool ends_epoch = false;    ///< `end_epoch()` was called, and the epoch's end is not done

  bool is_between_epochs() const { return batch == 0 && begun == 0; }
  Place place() const { return {global_step, epoch, batch, begun, round_is_due}; }
  void visit(Archive& archive);
};

/// Seconds of this process, for reports; `train_s` goes on from the checkpoint's.
struct Times {
  using Clock = std::chrono::steady_clock;
  Clock::time_point began = Clock::now();
  double before_s = 0;  ///< training time when this process began
  double val_s = 0;
  double checkpoint_s = 0;

  double agreed_s = -1;  ///< of several ranks, where they met last: what is due by time is due for all

  double own_s() const { return before_s + std::chrono::duration<double>(Clock::now() - began).count(); }
  double train_s() const { return agreed_s >= 0 ? agreed_s : own_s(); }
};

inline double seconds_since(Times::Clock::time_point begin) {
  return std::chrono::duration<double>(Times::Clock::now() - begin).count();
}

/// Everything that a checkpoint keeps beside weights and buffers. The random numbers of a step, record or hook are
/// functions of the seed and of counters that are here, so no generator is.
struct RunState {
  Position at;
  Outcome& outcome;
  StepThreads& threads;
  PlannedForms& planned_forms;
  Rows rows;
  LogTable& logs;
  FiniteGate& gate;
  LossScale& scale;
  MetricInputs& metric_inputs;
  LeftOutRecords& left_out;
  Listeners& listeners;
  RootState& root;  ///< its optimizers
  size_t train_stream;
  bool is_alone;  ///< one process

  void visit(Archive& archive);
};

}  // namespace ltr
