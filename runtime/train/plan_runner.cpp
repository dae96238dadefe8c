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

/// Nothing that a step does while it lives stays: neither in buffers nor in metrics.
class WithoutTrace {
 public:
  WithoutTrace(const Session& session, const std::vector<std::pair<Str, Metric::State>>& states) {
    for (const Entry& entry : session.request.root.state().buffers) {
      const In buffer(entry.tensor);
      buffers_.emplace_back(*buffer, buffer->clone());
    }
    for (const auto& [name, state] : states) states_.emplace_back(state.tensor, *state.tensor);
  }
  ~WithoutTrace() { restore(); }
  WithoutTrace(const WithoutTrace&) = delete;
  WithoutTrace& operator=(const WithoutTrace&) = delete;

  void restore() const {
    const NoGrad no_grad;
    for (const auto& [buffer, before] : buffers_) buffer.copy_(before);
    for (const auto& [state, before] : states_) *state = before;
  }

 private:
  std::vector<std::pair<at::Tensor, at::Tensor>> buffers_;
  std::vector<std::pair<Tensor*, Tensor>> states_;
};

class PlanRunner : public StepRunner {
 public:
  explicit PlanRunner(Session& session) : session_(session), torch_(make_torch_runner(session)) {
    const RunRequest& request = session.request;
    if (const Option<Str> reason = reason_of_run())
      throw error_at(request.experiment.location, err::not_planned, request.experiment.name, *reason);
  }

  void run(const StepInfo& step, const Batch& batch, size_t stream, uint64_t number) override {
    if (session_.is_repeating()) return torch_->run(step, batch, stream, number);
    const Batch here = on_device(batch);
    std::vector<Planned>& plans = of_[&step].plans[key_of(step, session_.request, here, stream)];
    const auto known = std::ranges::find_if(
        plans, [&](const Planned& planned) { return holds(planned.step->recording().guards, session_); });
    if (known != plans.end() && known->first) {
      // A second recording tells whether the step does the same in each run.
      const Option<Refusal> refusal = difference(*known->first, record(step, here, stream, number, {}));
      known->first.reset();
      if (refusal) refuse(step, *refusal);
    }
    PlannedStep& planned =
        known != plans.end() ? *known->step : *plans.emplace_back(plan(step, here, stream, number)).step;
    const StepScope scope(session_, step, here, stream, number);
    planned.run(session_, here, session_.is_alone() && !step.is_manual);
  }

 private:
  struct Planned {
    std::unique_ptr<PlannedStep> step;
    Option<Recording> first;  ///< until a second one was the same
  };
  struct OfStep {
    std::map<Str, std::vector<Planned>> plans;  ///< of the batches of one form, by what the host said
    size_t forms = 0;
  };

  Option<Str> reason_of_run() const {
    const RunRequest& request = session_.request;
    if (request.ranks.world() > 1) return "runs on several processes";
    if (precision().narrows || (precision().policy != at::kFloat && precision().policy != at::kDouble))
      return "computes in a precision other than f32 and f64";
    if (request.trainer.anomaly) return "looks at every op (trainer.anomaly)";
    for (const ScopeState& scope : request.root.state().scopes) {
      if (scope.recomputed != nullptr) return "computes blocks again (recompute)";
    }
    return std::nullopt;
  }

  [[noreturn]] void refuse(const StepInfo& step, const Refusal& refusal) const {
    throw error_at(refusal.location.line > 0 ? refusal.location : step.location, err::not_planned,
                   fmt::format("step {}", step.name), refusal.reason);
  }

  /// Runs the step on `batch` and listens, then calls `then` with what was recorded; nothing of it stays.
  Recording record(const StepInfo& step, const Batch& batch, size_t stream, uint64_t number,
                   const std::function<void(const Recording&)>& then) {
    std::vector<std::pair<Str, Metric::State>> states;  // A metric that is made now is no part of the step.
    for (const Model::MetricMember& member : session_.request.model.metrics) {
      for (const Metric::State& state : member.of(session_.request.model, int64_t(stream)).states())
        states.emplace_back(fmt::format("{}.{}", member.name, state.name), state);
    }
    const WithoutTrace without_trace(session_, states);
    Recording recording;
    {
      plan::Recorder recorder;
      for (const int field : step.fields) {
        const auto at = size_t(field);
        if (at < batch.fields.size()) recorder.field(batch.fields[at], at, session_.request.data.batch[at].name);
      }
      for (const Entry& entry : session_.request.root.state().weights) recorder.weight(entry.tensor, entry.path);
      for (const auto& [name, state] : states) recorder.state(*state.tensor, name);
      torch_->run(step, batch, stream, number);
      recording = recorder.take();
    }
    if (then) {
      without_trace.restore();
      const StepScope scope(session_, step, batch, stream, number);
      then(recording);
    }
    return recording;
  }

  Planned plan(const StepInfo& step, const Batch& batch, size_t stream, uint64_t number) {
    if (++of_[&step].forms > kMostPlans)
      refuse(step,
             {fmt::format("comes in more than {} forms: sizes of batches, and counts that it reads", kMostPlans), {}});
    std::unique_ptr<PlannedStep> planned;
    Recording recording = record(step, batch, stream, number, [&](const Recording& found) {
      if (found.refusal) refuse(step, *found.refusal);
      planned = std::make_unique<PlannedStep>(found);
      if (planned->refusal()) refuse(step, *planned->refusal());
      planned->prepare(batch);
    });
    return {std::move(planned), std::move(recording)};
  }

  Session& session_;
  std::unique_ptr<StepRunner> torch_;
  std::map<const StepInfo*, OfStep> of_;
};

}  // namespace

std::unique_ptr<StepRunner> make_plan_runner(Session& session) { return std::make_unique<PlanRunner>(session); }

}  // namespace ltr
