#pragma once

// What the trainer knows of a back end: it runs one step on one batch.

#include <memory>

#include "runtime/train/op_times.h"
#include "runtime/train/step_threads.h"
#include "runtime/train/trainer.h"

namespace ltr {

class Session;

class StepRunner {
 public:
  StepRunner() = default;
  StepRunner(const StepRunner&) = delete;
  StepRunner& operator=(const StepRunner&) = delete;
  virtual ~StepRunner() = default;

  /// Runs `step` on `batch`, the `number`-th of `stream` in its role. Gradients, updates and logs go to the session.
  /// All draws are keyed by (seed, role, stream, number, rank): repeated, it does the same.
  virtual void run(const StepInfo& step, const Batch& batch, size_t stream, uint64_t number) = 0;
  /// What plans took to make so far.
  virtual double planning_s() const { return 0; }
  /// What values of planned steps took at most, of the memory that they share.
  virtual int64_t plan_bytes() const { return 0; }
  /// For people: how each step that ran is computed, or where its time went if `RunFlags::profile` asks for that.
  virtual Str explain() const { return {}; }
  /// For people: what the operations took that ran one by one, where that is asked for.
  virtual Str op_times() const { return {}; }
  /// Adds what ran in the steps that a trace has.
  virtual void add_events(std::vector<TraceEvent>&) const {}
};

/// The batch where the step computes.
Batch on_device(const Batch& batch);

/// Of a step on the `number`-th batch of `stream`: where it draws from, and its threads.
class StepScope {
 public:
  StepScope(Session& session, const StepInfo& step, const Batch& batch, size_t stream, uint64_t number);

 private:
  StepThreads::Scope threads_;
};

/// The generated function, op by op, with LibTorch's autograd: any device, any control flow.
std::unique_ptr<StepRunner> make_torch_runner(Session& session);
/// What the run asks for: planned for this machine as it was recorded (runtime/plan), with the function itself where there is no plan;
/// R2015 there if plans are a must.
std::unique_ptr<StepRunner> make_runner(Session& session);
/// Why no step of the run is planned; nothing if some may be. "it …"
Option<Str> reason_without_plans(const RunRequest& request);

}  // namespace ltr
