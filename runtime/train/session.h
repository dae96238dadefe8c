#pragma once

// The trainer's side of a step or hook: what `minimize`, `log`, `stop` and the like do while a verb runs.

#include <algorithm>
#include <map>
#include <memory>
#include <set>
#include <unordered_map>

#include "runtime/callbacks/listener.h"
#include "runtime/data/trouble.h"
#include "runtime/tensor/joint_norm.h"
#include "runtime/train/agreement.h"
#include "runtime/train/evaluation.h"
#include "runtime/train/feed.h"
#include "runtime/train/finite_gate.h"
#include "runtime/train/gradients.h"
#include "runtime/train/late_gate.h"
#include "runtime/train/later_named.h"
#include "runtime/train/left_out_records.h"
#include "runtime/train/log_table.h"
#include "runtime/train/metric_inputs.h"
#include "runtime/train/outcome.h"
#include "runtime/train/planned_forms.h"
#include "runtime/train/rank_buffers.h"
#include "runtime/train/step_runner.h"
#include "runtime/train/step_threads.h"

namespace ltr {

class Session : public Context {
 public:
  /// `roles`: those whose logs may come. The program's callbacks are among the listeners.
  Session(RunRequest& request, std::vector<Role> roles);
  ~Session() override;
  /// Whether it goes over streams of `role`.
  bool is_of(Role role) const { return std::ranges::find(roles_, role) != roles_.end(); }

  void minimize(const Tensor& loss, Optimizer& optimizer, bool last, const Location& location) override;
  void backward(const Tensor& loss, const Location& location) override;
  void log(int slot, const Tensor& value) override;
  void log(int slot, double value) override;
  void log(int slot, Metric& metric) override;
  void log_image(int slot, const Tensor& image) override;
  void log_image(int slot, Metric& metric) override;
  void log_histogram(int slot, const Tensor& values) override;
  void log_text(int slot, const Str& text) override;
  void print(const Str& text) override;
  void stop(const Str& reason) override;
  void end_epoch(const Str& reason) override;
  void save(const Str& name) override;
  const Tensor& into_metric(const char* name, const Tensor& input) override;
  double metric(const char* series) override;
  void zero_grad(Optimizer& optimizer) override;
  void step(Optimizer& optimizer) override;
  void clip_norm(Optimizer& optimizer, double limit) override;
  void clip_value(Optimizer& optimizer, double limit) override;
  void set_lr(Optimizer& optimizer, double rate) override;
  void output(Outputs values) override;
  const Outputs& outputs() const override { return predicted; }

  /// Hooks see this batch while it lives.
  class BatchScope {
   public:
    BatchScope(Session& session, const Batch& shown) : session_(session) {
      session.batch = &shown;
      session.schema = &session.request.data.batch;
    }
    ~BatchScope() { session_.batch = nullptr; }
    BatchScope(const BatchScope&) = delete;
    BatchScope& operator=(const BatchScope&) = delete;

   private:
    Session& session_;
  };

  void run_hook(Hook hook) {
    if (is_silent || !listeners.has(hook)) return;
    const ProfilePart part(hook_name(hook));
    listeners.run(hook, *this);
  }
  /// `info` on another rank's batch, so that this one does what all others do: its gradient is 0, and nothing else of it stays
  /// but what the step writes into buffers.
  void stand_in(const StepInfo& info, const Batch& batch, size_t stream_index, uint64_t number);
  /// One call of `info` on `batch`, the `number`-th of its stream. With `anomaly`, and with `nan = raise` by repeating the
  /// batch, a number that is not finite is reported at the op that made it.
  void run_step(const StepInfo& info, const Batch& batch, size_t stream_index, uint64_t number);
  /// What plans of steps took to make so far.
  double planning_s() const { return runner_->planning_s(); }
  int64_t plan_bytes() const { return runner_->plan_bytes(); }
  /// How each step that ran is computed, for people.
  Str steps_text() const { return runner_->explain(); }
  /// What ran in the steps that a trace has.
  std::vector<TraceEvent> events() const {
    std::vector<TraceEvent> events;
    runner_->add_events(events);
    return events;
  }

  // The window under way.
  /// `is_recorded`: its values go to the loggers.
  void begin_window(const StepInfo& info, bool is_recorded);
  /// Of the batch that runs now: its part of the window's gradient, and whether it is the window's last.
  void set_row(double share, bool is_last, double weight) {
    gradients_.set_row(share, is_last);
    share_ = share;
    is_last_row_ = is_last;
    weight_ = weight;
    has_bad_loss_ = false;
    bad_loss_there_ = at::Tensor();
  }
  /// Whether the batch gave a loss that is not finite, as far as the host knows.
  bool has_bad_loss() const { return has_bad_loss_; }
  /// bool[], on a device that the host does not wait for; undefined elsewhere, and with `nan = stop`.
  const at::Tensor& bad_loss_there() const { return bad_loss_there_; }
  /// Whether the row that runs now is the whole window.
  bool is_alone() const { return gradients_.is_alone(); }
  /// Whether nobody sees gradients but the optimizer: they may be sparse.
  bool takes_rows() const;
  /// Whether the batch runs again, to be looked at.
  bool is_repeating() const { return is_repeating_; }
  /// The part of the batch that runs now.
  double share() const { return share_; }
  /// Whether weights moved since the window began.
  bool has_updated() const { return has_updated_; }
  /// Updates that the last row did not reach.
  void finish_window();
  /// Other weights train than before, on all ranks. Between windows.
  void trains_changed() { gradients_.trains_changed(); }
  GradientSum::Times exchange_times() const { return gradients_.times(); }

  /// Counts records that were left out. What is new of them goes to `faults/bad_records.jsonl` of a fit's folder.
  void take_left_out(std::vector<LeftOut> found);
  /// The file says what the counts, put back, say: no more, no less.
  void restore_left_out();
  /// Says what is new of them, once.
  void tell_left_out();
  /// Brings together what the ranks left out since it was told last; all of them call it.
  void share_left_out();

  /// Hands `values` to the recorder, at this `global_step`.
  void record(Named values);
  /// The epoch of `role` is over: appends its values, fresh for `hook`, which runs, and what that logs.
  void finish_epoch(Role role, Hook hook, Named& values);
  /// Says what metrics were given in the epoch of `role`, which is over, that they cannot make sense of.
  void tell_metric_inputs(Role role);
  /// Images of metrics that an epoch's end left.
  void record_images();

  RunRequest& request;
  Listeners listeners;
  LogTable logs;
  FiniteGate gate;
  LossScale scale;
  LateGate late;
  MetricInputs metric_inputs;
  Outcome outcome;
  StepThreads threads;
  PlannedForms planned_forms;
  bool ends_epoch = false;
  bool is_silent = false;  ///< no hook runs: the sanity round's results are thrown away
  std::vector<Str> saves;  ///< names that `save` was called with
  Agreement agreement;
  bool is_stand_in = false;  ///< the batch under way counts nothing: no log or metric of it, and no hook of a batch
  LaterNamed norms;          ///< of this window's updates, where computed
  Outputs predicted;         ///< what `output` gave
  LeftOutRecords left_out;

 private:
  /// A backward pass of a step that is repeated: it ends with the first loss or gradient that is not finite.
  void repeat(const at::Tensor& of, const Optimizer* by, bool keep_graph);
  /// The batch again, with nothing updated, logged or told.
  Error repeated(const Error& error, const StepInfo& info, const Batch& batch, size_t stream_index, uint64_t number);
  /// Whether the gradient of `loss` may be taken; R4001 if it is not finite and that ends the run at once.
  bool lets_loss(const at::Tensor& loss, const Optimizer* of, const Location& location);
  void refuse(Optimizer& optimizer, const Gradients::Came& came);
  void update(Optimizer& optimizer);
  Gradients::Came take_gradients(Optimizer& optimizer);
  void write_left_out(const std::vector<LeftOut>& records, bool appends);
  /// Hooks, clipping, the gate, and the update if it may happen.
  void clip_and_step(Optimizer& optimizer, const Gradients::Came& came);
  /// The update itself. False if it could not happen after all.
  bool make_update(Optimizer& optimizer, const Gradients::Came& came);
  /// That of an optimizer that repeats the step.
  bool search(Optimizer& optimizer, const Gradients::Came& came);
  /// The loss of the step at the weights as they are now, and its gradients in them: of all ranks. Nothing else of it stays, but
  /// what it writes into buffers.
  double evaluate(Optimizer& optimizer);
  /// What `evaluate` wants, at the `minimize` of the step.
  double take_evaluation(const at::Tensor& loss, Optimizer& optimizer);
  /// The mean of what all ranks minimized, whose shares sum up to `shares`.
  double mean_loss(const at::Tensor& loss, double shares) const;
  /// The same where numbers come later: nothing is waited for, the device decides.
  void clip_and_step_later(Optimizer& optimizer, const Gradients::Came& came);
  /// Divides the gradients by the loss scale, once an update. What it found in them; undefined without a scale.
  at::Tensor unscale(const Optimizer& optimizer);
  bool hooks_want_norm() const { return listeners.has(Hook::before_step) || listeners.has(Hook::after_step); }
  /// Whether what is skipped or explained must be seen before the weights take it.
  bool looks_at_gradients() const;
  void tell_before_clip(const Optimizer& optimizer);
  bool keeps_logs() const { return !request.flags.bare && !is_repeating_ && !is_stand_in; }
  /// Whether what `slot` draws, counts or writes is recorded at this step.
  bool shows(int slot);
  Str tag_of(int slot) const;

  /// Sums of batch norms, where those of this role are joint.
  const JointSum* joint_sum_of(Role role, bool counts);

  Gradients gradients_;
  JointSum counting_, standing_in_;
  RankBuffers buffers_;
  std::vector<Role> roles_;
  std::unique_ptr<StepRunner> runner_;
  double share_ = 1;
  double weight_ = 1;
  bool is_last_row_ = true;
  bool is_recorded_ = false;
  bool has_updated_ = false;
  bool is_repeating_ = false;
  struct Running {
    const StepInfo* info;
    const Batch* batch;
    size_t stream_index;
    uint64_t number;
  };
  Running running_{};               ///< the step under way
  Location minimizes_at_;           ///< in it
  Evaluated* evaluated_ = nullptr;  ///< while the step is evaluated again
  bool has_bad_loss_ = false;       ///< of the batch
  at::Tensor bad_loss_there_;
  Location bad_loss_;  ///< of the window, where its loss was not finite
  Str bad_value_;
  std::set<const Optimizer*> not_finite_;               ///< whose gradients a manual step found so when it clipped them
  std::map<const Optimizer*, at::Tensor> overflows_;    ///< of gradients that are unscaled: what was found in them
  std::map<const Optimizer*, at::Tensor> norms_later_;  ///< of gradients that a manual step clipped
  std::unordered_map<int, int64_t> shown_;              ///< the newest step of each slot that shows something
};

/// The next batch of `feed`, and what was left out before it counted.
inline bool next_of(Session& cx, Feed& feed, Batch& batch) {
  const ProfilePart part("data wait");
  const bool is_there = feed.next(batch);
  cx.take_left_out(feed.take_left_out());
  for (const Str& text : take_troubles()) cx.request.progress.warning(text);
  return is_there;
}

/// The callback of that name that the program declares, or null.
const CallbackInfo* find_callback(const Program& program, const Str& name);

}  // namespace ltr
