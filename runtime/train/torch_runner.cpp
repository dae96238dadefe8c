#include "runtime/plan/recorder.h"
#include "runtime/tensor/device.h"
#include "runtime/tensor/handle.h"
#include "runtime/tensor/precision.h"
#include "runtime/tensor/random.h"
#include "runtime/train/session.h"
#include "runtime/train/step_runner.h"

namespace ltr {

// The host may be windows ahead of the device: so a copy is there before it is asked for.
Batch on_device(const Batch& batch) {
  if (accelerator() == nullptr) return batch;
  Batch there = batch;
  there.fields = give(accelerator()->to_device(aten(batch.fields)));
  return there;
}

StepScope::StepScope(Session& session, const StepInfo& step, const Batch& batch, size_t stream, uint64_t number)
    : threads_(session.threads, step.role, batch.size) {
  const RunRequest& request = session.request;
  // Only a key is set here: nothing is computed before something draws.
  seed_random(random_key(uint64_t(request.trainer.seed), "step",
                         {uint64_t(step.role), stream, number, uint64_t(request.ranks.rank())}));
  forget_casts();
}

namespace {

class TorchRunner : public StepRunner {
 public:
  explicit TorchRunner(Session& session) : session_(session) {}

  void run(const StepInfo& step, const Batch& batch, size_t stream, uint64_t number) override {
    const ProfilePart part("forward");
    const StepScope scope(session_, step, batch, stream, number);
    // What is rehearsed for a plan is no step of the run.
    const OpTimes::Scope listening(plan::Recorder::here() == nullptr ? times() : nullptr);
    step.run(session_.request.model, session_, on_device(batch), session_.request.params_of(step).values);
  }

  Str explain() const override { return "all steps: op by op, as --backend torch has it\n" + op_times(); }
  Str op_times() const override { return times_ ? times_->text() : ""; }
  void add_events(std::vector<TraceEvent>& events) const override {
    if (times_) events.insert(events.end(), times_->events().begin(), times_->events().end());
  }

 private:
  /// Null where nobody asked for a profile.
  OpTimes* times() {
    if (times_ == nullptr && Profile::here() != nullptr) times_ = std::make_unique<OpTimes>(*Profile::here());
    return times_.get();
  }

  Session& session_;
  std::unique_ptr<OpTimes> times_;
};

}  // namespace

std::unique_ptr<StepRunner> make_torch_runner(Session& session) { return std::make_unique<TorchRunner>(session); }

}  // namespace ltr
