#include <algorithm>
#include <map>

#include "runtime/plan/planned_step.h"
#include "runtime/plan/recorder.h"
#include "runtime/tensor/handle.h"
#include "runtime/tensor/mode.h"
#include "runtime/tensor/precision.h"
#include "runtime/train/root_state.h"
#include "runtime/train/session.h"
#include "runtime/train/step_runner.h"

namespace ltr {

namespace {

using plan::PlannedStep;
using plan::Recording;
using plan::Refusal;

/// Plans of one step: more are not made, since what comes in ever new forms is slower to plan than to run.
constexpr size_t kMostPlans = 8;

/// What of a batch and of the weights decides the graph, as a row of numbers and texts.
Str key_of(const StepInfo& step, const RunRequest& request, const Batch& batch, size_t stream) {
  Str key = fmt::format("{}/{}/{}", stream, batch.size, is_training());
  for (const int field : step.fields) {
    if (size_t(field) >= batch.fields.size() || !batch.fields[size_t(field)].defined()) {
      key += "/none";
      continue;
    }
    const In tensor(batch.fields[size_t(field)]);
    key += fmt::format("/{}:{}", int(tensor->scalar_type()), fmt::join(tensor->sizes(), ","));
  }
  for (const Value& param : request.predict_params) key += "/" + param.to_text();
  key += '/';
  for (const Entry& entry : request.root.state().weights) key += In(entry.tensor)->requires_grad() ? '1' : '0';
  return key;
}

bool holds(const std::vector<plan::Guard>& guards, const Context& cx) {
  return std::ranges::all_of(guards, [&](const plan::Guard& guard) { return plan::holds(guard, cx); });
}

class PlanRunner : public StepRunner {
 public:
  explicit PlanRunner(Session& session) : session_(session), torch_(make_torch_runner(session)) { check_run(); }

  void run(const StepInfo& step, const Batch& batch, size_t stream, uint64_t number) override {
    if (session_.is_repeating()) return torch_->run(step, batch, stream, number);
    const Batch here = on_device(batch);
    OfKey& known = of_[&step].keys[key_of(step, session_.request, here, stream)];
    for (const auto& planned : known.plans) {
      if (!holds(planned->recording().guards, session_)) continue;
      const StepScope scope(session_, step, here, stream, number);
      return planned->run(session_, here, session_.is_alone() && !step.is_manual);
    }
    Recording recording = record(step, here, stream, number);
    if (recording.refusal) refuse(step, *recording.refusal);
    take(step, known, std::move(recording));
  }

 private:
  /// What is known of the batches of one form.
  struct OfKey {
    std::vector<Recording> met;  ///< once
    std::vector<std::unique_ptr<PlannedStep>> plans;
  };
  struct OfStep {
    std::map<Str, OfKey> keys;
    size_t forms = 0;
  };

  void check_run() const {
    const RunRequest& request = session_.request;
    const auto fail = [&](const char* reason) {
      throw error_at(request.experiment.location, err::not_planned, request.experiment.name, reason);
    };
    if (request.ranks.world() > 1) fail("runs on several processes");
    if (precision().narrows || (precision().policy != at::kFloat && precision().policy != at::kDouble))
      fail("computes in a precision other than f32 and f64");
    if (request.trainer.anomaly) fail("looks at every op (trainer.anomaly)");
    for (const ScopeState& scope : request.root.state().scopes) {
      if (scope.recomputed != nullptr) fail("computes blocks again (recompute)");
    }
  }

  [[noreturn]] void refuse(const StepInfo& step, const Refusal& refusal) const {
    throw error_at(refusal.location.line > 0 ? refusal.location : step.location, err::not_planned,
                   fmt::format("step {}", step.name), refusal.reason);
  }

  /// Runs the step as ever, and listens.
  Recording record(const StepInfo& step, const Batch& batch, size_t stream, uint64_t number) {
    std::vector<std::pair<Str, Metric::State>> states;  // A metric that is made now is no part of the step.
    for (const Model::MetricMember& member : session_.request.model.metrics) {
      for (const Metric::State& state : member.of(session_.request.model, int64_t(stream)).states())
        states.emplace_back(fmt::format("{}.{}", member.name, state.name), state);
    }
    plan::Recorder recorder;
    for (const int field : step.fields) {
      const auto at = size_t(field);
      if (at < batch.fields.size()) recorder.field(batch.fields[at], at, session_.request.data.batch[at].name);
    }
    for (const Entry& entry : session_.request.root.state().weights) recorder.weight(entry.tensor, entry.path);
    for (const auto& [name, state] : states) recorder.state(*state.tensor, name);
    torch_->run(step, batch, stream, number);
    return recorder.take();
  }

  /// The second recording of a form tells what of it is the same in each run.
  void take(const StepInfo& step, OfKey& known, Recording recording) {
    const auto first =
        std::ranges::find_if(known.met, [&](const Recording& other) { return other.guards == recording.guards; });
    if (first == known.met.end()) {
      if (++of_[&step].forms > kMostPlans)
        refuse(
            step,
            {fmt::format("comes in more than {} forms: sizes of batches, and counts that it reads", kMostPlans), {}});
      known.met.push_back(std::move(recording));
      return;
    }
    if (const Option<Refusal> refusal = difference(*first, recording)) refuse(step, *refusal);
    known.met.erase(first);
    auto planned = std::make_unique<PlannedStep>(std::move(recording));
    if (planned->refusal()) refuse(step, *planned->refusal());
    known.plans.push_back(std::move(planned));
  }

  Session& session_;
  std::unique_ptr<StepRunner> torch_;
  std::map<const StepInfo*, OfStep> of_;
};

}  // namespace

std::unique_ptr<StepRunner> make_plan_runner(Session& session) { return std::make_unique<PlanRunner>(session); }

}  // namespace ltr
