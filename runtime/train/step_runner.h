#pragma once

// What the trainer knows of a back end: it runs one step on one batch.

#include <memory>

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
/// The function as it was recorded, planned for this machine (runtime/plan). R2015 for a run or a step that has no plan.
std::unique_ptr<StepRunner> make_plan_runner(Session& session);

}  // namespace ltr
