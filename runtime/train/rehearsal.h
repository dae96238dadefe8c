#pragma once

// Windows of training whose weights nobody keeps: what finders do with a model that is made for them and goes with them
// (runtime.md 2.10). Batches, draws, gradients and updates are those of a fit from its first window on, on all ranks. There is
// no hook, callback, log, round or checkpoint, schedules are out of force, and no number is refused.

#include <memory>

#include "runtime/train/window_runner.h"
#include "runtime/train/windows.h"

namespace ltr {

class Rehearsal {
 public:
  explicit Rehearsal(const RunRequest& request);
  ~Rehearsal();
  Rehearsal(const Rehearsal&) = delete;
  Rehearsal& operator=(const Rehearsal&) = delete;

  /// The next window; the stream goes round. The mean of what `optimizer` minimized in it, as its gradient is a mean: over
  /// rows and ranks. Nothing if no loss came, or nobody asks.
  Option<double> run_window(const Optimizer* optimizer = nullptr);
  /// Waits until as many batches lie ready as ever do in a run.
  void fill() { feed_->fill(); }
  /// What the newest batch takes, in bytes.
  int64_t batch_bytes() const;
  /// The signal that ends it, the same on all ranks; 0 if there is none.
  int signal() const;
  const StepInfo& step() const { return step_; }

 private:
  class Losses;

  RunRequest request_;
  const StepInfo& step_;
  size_t stream_;
  std::unique_ptr<Losses> cx_;
  std::unique_ptr<Feed> feed_;
  Windows windows_;
  Position at_;
  Times times_;
  std::unique_ptr<WindowRunner> window_;
};

}  // namespace ltr
