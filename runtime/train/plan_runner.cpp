#include <algorithm>
#include <map>
#include <set>

#include "runtime/plan/planned_step.h"
#include "runtime/plan/recorder.h"
#include "runtime/tensor/device.h"
#include "runtime/tensor/dtype.h"
#include "runtime/tensor/handle.h"
#include "runtime/tensor/memory_pool.h"
#include "runtime/tensor/mode.h"
#include "runtime/tensor/precision.h"
#include "runtime/train/kept_buffers.h"
#include "runtime/train/planned_forms.h"
#include "runtime/train/root_state.h"
#include "runtime/train/session.h"
#include "runtime/train/step_runner.h"

namespace ltr {

namespace {

using plan::PlannedStep;
using plan::Recording;
using plan::Refusal;
using plan::Stopwatch;

/// What of a batch decides the graph, in numbers.
void read_key(const StepInfo& step, const RunRequest& request, const Batch& batch, size_t stream,
              std::vector<int64_t>& key) {
  key = {int64_t(stream), batch.size, is_training()};
  for (const int field : step.fields) {
    if (size_t(field) >= batch.fields.size() || !batch.fields[size_t(field)].defined()) {
      key.push_back(-1);
      continue;
    }
    const In tensor(batch.fields[size_t(field)]);
    key.push_back(int64_t(tensor->scalar_type()));
    key.push_back(tensor->dim());
    key.insert(key.end(), tensor->sizes().begin(), tensor->sizes().end());
  }
  for (const Value& param : request.params_of(step).values) {
    const Str text = param.to_text();
    key.push_back(int64_t(text.size()));
    key.insert(key.end(), text.begin(), text.end());
  }
}

/// What is held back from training, as `1` for each weight and norm: it decides the graph, too. "" where everything trains.
void read_held(const RunRequest& request, Str& held) {
  held.clear();
  for (const Entry& entry : request.root.state().weights) held += In(entry.tensor)->requires_grad() ? '0' : '1';
  for (const Entry& entry : request.root.state().buffers) held += rests(entry.tensor.impl()) ? '1' : '0';
  if (held.find('1') == Str::npos) held.clear();
}

/// Whether it reads tensors that are neither weights nor buffers, and that none of its ops made.
bool has_constants(const Recording& recording, const RunRequest& request) {
  return std::ranges::any_of(recording.kept, [&](const auto& kept) {
    const auto is_it = [&](const Entry& buffer) { return buffer.tensor.impl() == kept.second.impl(); };
    return recording.graph.values[kept.first].kind == plan::Value::Kind::Constant &&
           std::ranges::none_of(request.root.state().buffers, is_it);
  });
}

bool holds(const std::vector<plan::Guard>& guards, const Context& cx) {
  return std::ranges::all_of(guards, [&](const plan::Guard& guard) { return plan::holds(guard, cx); });
}

/// Nothing that a step does while it lives stays: neither in buffers nor in metrics.
class WithoutTrace {
 public:
  WithoutTrace(const Session& session, const std::vector<std::pair<Str, Metric::State>>& states)
      : buffers_(session.request.root.state()) {
    for (const auto& [name, state] : states) states_.emplace_back(state.tensor, *state.tensor);
  }
  ~WithoutTrace() { restore(); }
  WithoutTrace(const WithoutTrace&) = delete;
  WithoutTrace& operator=(const WithoutTrace&) = delete;

  void restore() const {
    buffers_.restore();
    for (const auto& [state, before] : states_) *state = before;
  }

 private:
  KeptBuffers buffers_;
  std::vector<std::pair<Tensor*, Tensor>> states_;
};

class PlanRunner : public StepRunner {
 public:
  explicit PlanRunner(Session& session)
      : session_(session),
        torch_(make_torch_runner(session)),
        is_required_(session.request.flags.backend == Backend::Native),
        reason_of_run_(reason_without_plans(session.request)) {
    const ExperimentInfo& experiment = session.request.experiment;
    if (is_required_ && reason_of_run_)
      throw error_at(experiment.location, err::not_planned, experiment.name, *reason_of_run_);
  }

  void run(const StepInfo& step, const Batch& batch, size_t stream, uint64_t number) override {
    if (session_.is_repeating()) return torch_->run(step, batch, stream, number);
    if (reason_of_run_) {
      if (!std::exchange(is_told_, true)) tell(session_.request.experiment.name, {*reason_of_run_, {}});
      return torch_->run(step, batch, stream, number);
    }
    const Batch there = accelerator() != nullptr ? on_device(batch) : Batch();
    const Batch& here = accelerator() != nullptr ? there : batch;
    PlannedStep* const planned = plan_for(step, here, stream, number);
    if (planned == nullptr) return torch_->run(step, here, stream, number);
    ++*runs_of_.find(&step)->second;
    const ProfilePart part("forward");
    const StepScope scope(session_, step, here, stream, number);
    if (planned->wants_capture()) {
      const WithoutTrace without_trace(session_, {});
      planned->capture(here);
    }
    const WideScope wide(narrows_);  // What no kernel computes is LibTorch's, on values of the plan.
    planned->run(
        session_, here,
        {.is_alone = !step.is_manual && session_.is_alone(), .takes_rows = !step.is_manual && session_.takes_rows()});
  }

  double planning_s() const override { return planning_s_; }
  int64_t plan_bytes() const override { return plan_bytes_; }

  Str explain() const override {
    Str text;
    for (const StepInfo& step : session_.request.experiment.steps) {
      const auto plans = plans_of_.find(&step);
      if (const auto reason = op_by_op_.find(step.name); reason != op_by_op_.end()) {
        text += fmt::format("step {}: op by op, since it {}\n", step.name, reason->second);
      } else if (reason_of_run_) {
        text += fmt::format("step {}: op by op, since the run {}\n", step.name, *reason_of_run_);
      } else if (plans != plans_of_.end()) {
        for (const auto& [key, forms] : plans->second) {
          for (const Planned& form : forms) text += explain(step, size_t(key[0]), form);
        }
      }
    }
    return text + op_times();
  }

  Str op_times() const override { return torch_->op_times(); }

  void add_events(std::vector<TraceEvent>& events) const override {
    torch_->add_events(events);
    const Profile* const profile = Profile::here();
    if (profile == nullptr) return;
    for (const auto& [step, plans] : plans_of_) {
      for (const auto& [key, forms] : plans) {
        for (const Planned& form : forms) {
          if (form.step->cpu_plan() == nullptr) continue;
          const std::vector<plan::CallCost> costs = form.step->cpu_plan()->costs();
          for (const plan::CallSpan& span : form.step->cpu_plan()->spans()) {
            const plan::CallCost& cost = costs[span.call];
            events.push_back({cost.what, cost.location, span.thread, profile->at(span.begin), span.seconds});
          }
        }
      }
    }
  }

 private:
  static inline const Str kTooMany =
      fmt::format("comes in more than {} forms: sizes of batches, and counts that it reads", PlannedForms::kMost);

  struct Planned {
    std::unique_ptr<PlannedStep> step;
    plan::PlanningTimes times;
    int64_t samples = 0;
    std::vector<Str> params;  ///< `temperature = 0.5`
    Option<Recording> first;  ///< until a second one was the same
  };
  using Plans =
      std::map<std::vector<int64_t>, std::vector<Planned>>;  ///< of the batches of one form, by what the host said

  /// What a batch and the host have to say for the plan to be theirs.
  Str guards_text(size_t stream, const Planned& form) const {
    const Recording& recording = form.step->recording();
    std::vector<Str> fields, guards;
    for (const plan::GivenField& field : recording.fields) {
      if (field.value == plan::kNone) continue;
      const plan::Value& value = recording.graph.values[field.value];
      fields.push_back(fmt::format("{} {}[{}]", value.name, to_text(value.dtype), fmt::join(value.sizes, ", ")));
    }
    const auto add = [&](const Str& text) {
      if (std::ranges::find(guards, text) == guards.end()) guards.push_back(text);
    };
    for (const Str& param : form.params) add(param);
    for (const plan::Guard& guard : recording.guards) add(to_text(guard));
    if (const auto held = std::ranges::count(held_, '1'); held > 0)
      add(fmt::format("{} weights and norms are held back", held));
    const Str name = session_.request.data.streams[stream].name;  // "" for the only one of its role
    return fmt::format(
        "  holds for {}{}{}{}{}\n",
        fields.empty() ? Str("batches that it reads nothing of") : fmt::format("{}", fmt::join(fields, ", ")),
        name.empty() ? "" : " of ", name, guards.empty() ? "" : ", while ", fmt::join(guards, ", "));
  }

  Str explain(const StepInfo& step, size_t stream, const Planned& form) const {
    const plan::CpuPlan* const plan = form.step->cpu_plan();
    Str text = fmt::format("step {}, batches of {}: {} operations", step.name, form.samples,
                           form.step->recording().graph.nodes.size());
    if (plan == nullptr) {
      const plan::Replays* const replays = form.step->replays();
      return text + ", " + (replays != nullptr ? replays->text() : "one by one with LibTorch") + "\n" +
             guards_text(stream, form);
    }
    const plan::PlanningTimes& times = form.times;
    text += fmt::format(
        ", planned for {}, {:.1f} MiB of values\n{}  made in {:.1f} ms: rehearsals {:.1f}, gradients {:.1f}, sizes "
        "{:.1f}, calls {:.1f}\n",
        plan->threads_text(), double(plan->bytes()) / (1 << 20), guards_text(stream, form), times.sum() * 1e3,
        times.recording * 1e3, times.gradients * 1e3, times.sizes * 1e3, times.calls * 1e3);
    if (session_.request.flags.memory) return text + plan->memory_text();
    if (!session_.request.flags.profile) return text + plan->kernels_text() + plan->text() + plan->memory_text();
    const plan::Measured measured = form.step->measured();
    return measured.runs > 0 ? text + plan::profile_text(measured) : text;
  }

  /// Whether its batches go by once, so that a form that comes a single time is done before a plan for it would be made.
  bool may_come_once(const StepInfo& step) const {
    // In rounds of a fit callbacks predict again and again.
    const bool goes_by_once = (step.role == Role::Test || step.role == Role::Predict) && session_.is_of(step.role);
    return goes_by_once && !is_required_ && !session_.request.flags.explain;
  }

  /// Null where `step` runs op by op.
  PlannedStep* plan_for(const StepInfo& step, const Batch& batch, size_t stream, uint64_t number) {
    if (session_.planned_forms.runs_op_by_op(step.name)) return nullptr;
    forget_other_weights();
    read_key(step, session_.request, batch, stream, key_);
    if (may_come_once(step) && met_[&step].insert(key_).second) return nullptr;
    Plans& of_step = plans_of_[&step];
    // Sizes that come too late leave nothing behind.
    if (!of_step.contains(key_) && is_closed(step)) return nullptr;
    std::vector<Planned>& plans = of_step[key_];
    const auto known = std::ranges::find_if(
        plans, [&](const Planned& planned) { return holds(planned.step->recording().guards, session_); });
    if (known == plans.end()) return plan(step, batch, stream, number, plans);
    if (known->first) {
      const auto begin = Stopwatch::Clock::now();
      const Option<Refusal> refusal = change_from(*known->first, step, batch, stream, number, known->times);
      known->first.reset();
      planning_s_ += Stopwatch::since(begin);
      if (refusal) return give_up(step, *refusal);
    }
    return known->step.get();
  }

  /// Whether batches of this size came too late for a plan; those that have one keep it.
  bool is_closed(const StepInfo& step) {
    if (!session_.planned_forms.is_closed(step.name, held_, key_text())) return false;
    if (is_required_) throw error_at(step.location, err::not_planned, fmt::format("step {}", step.name), kTooMany);
    if (closed_.insert(&step).second) {
      session_.request.progress.notice(
          fmt::format("step {}: batches of {} sizes are planned, those of others run op by op ({}:{})", step.name,
                      PlannedForms::kMost, step.location.file, step.location.line));
    }
    return true;
  }

  Str key_text() const { return fmt::format("{}", fmt::join(key_, ",")); }

  /// Plans of steps that trained other weights are of no use any more.
  void forget_other_weights() {
    read_held(session_.request, held_now_);
    if (held_now_ == held_) return;
    held_ = held_now_;
    plans_of_.clear();
    runs_of_.clear();
  }

  /// What tells that the step does not do the same in each run: a second recording.
  Option<Refusal> change_from(const Recording& first, const StepInfo& step, const Batch& batch, size_t stream,
                              uint64_t number, plan::PlanningTimes& times) {
    const ProfilePart part("planning", true);
    // Its values do not matter, unless sizes hang on them. One that is the same without them is the same. One that is not may be so for the
    // zeros that stood for them.
    if (plan::has_fixed_sizes(first.graph)) {
      try {
        if (!difference(first, record(step, batch, stream, number, times, &first))) return std::nullopt;
      } catch (const std::exception&) {  // some function has no answer for zeros
      }
    }
    return difference(first, record(step, batch, stream, number, times));
  }

  PlannedStep* plan(const StepInfo& step, const Batch& batch, size_t stream, uint64_t number,
                    std::vector<Planned>& plans) {
    const ProfilePart part("planning", true);
    const auto begin = Stopwatch::Clock::now();
    const Str key = key_text();
    std::unique_ptr<PlannedStep> planned;
    plan::PlanningTimes times;
    Option<Refusal> refusal;
    bool is_admitted = true;
    Recording recording = record(step, batch, stream, number, times, nullptr, [&](const Recording& found) {
      refusal = found.refusal;
      if (refusal) return;
      const auto admission = session_.planned_forms.admit(step.name, held_, form_of(key, found.guards));
      is_admitted = admission != PlannedForms::Admission::No;
      if (!is_admitted) return;
      if (admission == PlannedForms::Admission::InPlaceOfAll) {
        for (auto& [of_key, forms] : plans_of_[&step]) forms.clear();
      }
      planned = std::make_unique<PlannedStep>(found);
      refusal = planned->refusal();
      if (refusal) return;
      planned->prepare(batch, session_.threads.all(), arena_, narrows_);
      static const bool kNever = false;
      if (planned->cpu_plan() != nullptr) plan_bytes_ = std::max(plan_bytes_, planned->cpu_plan()->bytes());
      if (session_.request.flags.profile)
        planned->measure(Profile::here() != nullptr ? Profile::here()->is_tracing() : kNever);
    });
    if (!is_admitted) refusal = Refusal{kTooMany, {}};
    // A tensor that no op made may be another one each time, and hang on weights: this batch would go the wrong way.
    if (!refusal && has_constants(recording, session_.request))
      refusal = change_from(recording, step, batch, stream, number, times);
    planning_s_ += Stopwatch::since(begin);
    if (refusal) return give_up(step, *refusal);
    const double recording_s = times.recording;
    times = planned->planning();
    times.recording = recording_s;
    runs_of_[&step] = &session_.planned_forms.runs(step.name, held_);
    plans.push_back({std::move(planned), times, batch.size, params_text(step), std::move(recording)});
    return plans.back().step.get();
  }

  std::vector<Str> params_text(const StepInfo& step) const {
    const std::vector<Value>& values = session_.request.params_of(step).values;
    std::vector<Str> list;
    for (size_t i = 0; i < values.size(); ++i)
      list.push_back(fmt::format("{} = {}", step.params[i].name, values[i].to_text()));
    return list;
  }

  /// R2015 where plans were asked for.
  PlannedStep* give_up(const StepInfo& step, const Refusal& refusal) {
    const Location& location = refusal.location.line > 0 ? refusal.location : step.location;
    const Str name = fmt::format("step {}", step.name);
    if (is_required_) throw error_at(location, err::not_planned, name, refusal.reason);
    session_.planned_forms.give_up(step.name);
    op_by_op_[step.name] = refusal.location.line > 0
                               ? fmt::format("{} ({}:{})", refusal.reason, refusal.location.file, refusal.location.line)
                               : refusal.reason;
    plans_of_.erase(&step);
    tell(name, {refusal.reason, location});
    return nullptr;
  }

  void tell(const Str& what, const Refusal& refusal) const {
    const Str place =
        refusal.location.line > 0 ? fmt::format(" ({}:{})", refusal.location.file, refusal.location.line) : "";
    session_.request.progress.notice(fmt::format("{} runs op by op: it {}{}", what, refusal.reason, place));
  }

  /// Runs the step on `batch` and listens, then calls `then` with what was recorded; nothing of it stays. What `known`
  /// tells is not computed. Adds what it takes without `then` to `times`.
  Recording record(const StepInfo& step, const Batch& batch, size_t stream, uint64_t number, plan::PlanningTimes& times,
                   const Recording* known = nullptr, const std::function<void(const Recording&)>& then = {}) {
    const auto begin = Stopwatch::Clock::now();
    // The memory of plans, and that of a step op by op: never both.
    if (known == nullptr) {
      arena_->give_back();
      give_back_memory();
    }
    std::vector<std::pair<Str, Metric::State>> states;  // A metric that is made now is no part of the step.
    for (const Model::MetricMember& member : session_.request.model.metrics) {
      for (const Metric::State& state : member.of(session_.request.model, int64_t(stream)).states())
        states.emplace_back(fmt::format("{}.{}", member.name, state.name), state);
    }
    const WithoutTrace without_trace(session_, states);
    const WideScope wide(narrows_);
    Recording recording;
    {
      plan::Recorder recorder(known);
      for (const int field : step.fields) {
        const auto at = size_t(field);
        if (at < batch.fields.size()) recorder.field(batch.fields[at], at, session_.request.data.batch[at].name);
      }
      for (const Entry& entry : session_.request.root.state().weights) recorder.weight(entry.tensor, entry.path);
      for (const auto& [name, state] : states) recorder.state(*state.tensor, name);
      torch_->run(step, batch, stream, number);
      recording = recorder.take();
    }
    if (known == nullptr) give_back_memory();
    times.recording += Stopwatch::since(begin);
    if (then) {
      without_trace.restore();
      const StepScope scope(session_, step, batch, stream, number);
      then(recording);
    }
    return recording;
  }

  Session& session_;
  std::unique_ptr<StepRunner> torch_;
  bool is_required_;
  /// Products of plans for CPUs, of what is recorded as if nothing did. On a device the functions narrow, as without a plan.
  bool narrows_ = precision().narrows && accelerator() == nullptr;
  Option<Str> reason_of_run_;
  bool is_told_ = false;
  std::shared_ptr<plan::Arena> arena_ = std::make_shared<plan::Arena>();
  std::map<const StepInfo*, Plans> plans_of_;
  std::map<const StepInfo*, int64_t*> runs_of_;                    ///< of what has plans
  std::map<const StepInfo*, std::set<std::vector<int64_t>>> met_;  ///< forms, where they may come once
  std::map<Str, Str> op_by_op_;                                    ///< steps, and why
  std::set<const StepInfo*> closed_;                               ///< steps of which more came than are planned
  std::vector<int64_t> key_;
  Str held_, held_now_;  ///< of the plans that there are, and where it is read
  double planning_s_ = 0;
  int64_t plan_bytes_ = 0;
};

}  // namespace

Option<Str> reason_without_plans(const RunRequest& request) {
  if (request.ranks.world() > 1) return "runs on several processes";
  if (accelerator() != nullptr) {
    if (precision().scales) return "scales its losses (f16)";
  } else if (precision().policy != at::kFloat && precision().policy != at::kDouble) {
    return "computes in a precision that no plan has here";
  }
  if (request.trainer.anomaly) return "looks at every op (trainer.anomaly)";
  if (request.flags.backend == Backend::Native) return std::nullopt;
  // On a CPU a plan would run its ops one by one, as without one.
  if (precision().policy == at::kDouble && accelerator() == nullptr) return "computes in f64";
  return std::nullopt;
}

std::unique_ptr<StepRunner> make_runner(Session& session) {
  if (session.request.flags.backend == Backend::Torch) return make_torch_runner(session);
  return std::make_unique<PlanRunner>(session);
}

}  // namespace ltr
