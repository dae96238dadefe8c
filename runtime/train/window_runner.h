#pragma once

// One window of training (runtime.md 2.3): its rows are fetched, weighed and given to the train step, on all ranks alike.

#include "runtime/train/batch_weight.h"
#include "runtime/train/session.h"

namespace ltr {

class WindowRunner {
 public:
  /// `step` runs on batches of `feed`, which reads stream `stream`; `at` moves with them.
  WindowRunner(RunRequest& request, Session& cx, const StepInfo& step, size_t stream, Feed& feed, Position& at)
      : request_(request), cx_(cx), step_(step), stream_(stream), feed_(feed), at_(at), weight_(request) {}

  /// The next window, of at most `rows` rows. False if nothing was left of the epoch.
  bool run(int64_t rows, bool is_recorded);

  /// The batch under way, and whether one is: what broke, broke in it.
  const Batch& batch() const { return batch_; }
  bool has_batch() const { return has_batch_; }

 private:
  double weight_of(int64_t rows);
  void run_row(double total, bool is_last);

  RunRequest& request_;
  Session& cx_;
  const StepInfo& step_;
  size_t stream_;
  Feed& feed_;
  Position& at_;
  BatchWeight weight_;
  Batch batch_;
  bool has_batch_ = false;
};

}  // namespace ltr
