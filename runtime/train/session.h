#pragma once

// The trainer's side of a step or hook: what `minimize`, `log`, `stop` and the like do while a verb runs.

#include <functional>
#include <memory>
#include <unordered_map>

#include "runtime/api/error.h"
#include "runtime/callbacks/hooks.h"
#include "runtime/train/backward.h"
#include "runtime/train/feed.h"
#include "runtime/train/log_table.h"
#include "runtime/train/root_state.h"

namespace ltr {

class Session : public Context {
 public:
  /// `roles`: those whose logs may come.
  Session(RunRequest& request, std::vector<Role> roles);
  ~Session() override;

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
  double metric(const char* series) override;
  void zero_grad(Optimizer& optimizer) override;
  void step(Optimizer& optimizer) override;
  void clip_norm(Optimizer& optimizer, double limit) override;
  void clip_value(Optimizer& optimizer, double limit) override;
  void set_lr(Optimizer& optimizer, double rate) override;
  void output(const Tensor& value) override;

  void run_hook(Hook hook) { hooks.run(hook, *this, uint64_t(request.trainer.seed)); }

  /// One call of `step` on `batch` of `stream`; seeds, modes and gradients as its role wants.
  void run_step(const StepInfo& step, const Batch& batch, size_t stream_index, uint64_t batch_number);

  // The window under way.
  void begin_window() {
    reached_.clear();
    has_updated_ = false;
  }
  /// Of the batch that runs now: its part of the window's gradient, and whether it is the window's last.
  void set_row(double share, bool is_last, double weight) {
    share_ = share;
    is_last_row_ = is_last;
    weight_ = weight;
  }
  /// Whether weights moved since the window began.
  bool has_updated() const { return has_updated_; }
  /// Updates that the last row did not reach.
  void finish_window();

  /// Hands `values` to the recorder, at this `global_step`.
  void record(Named values);
  /// Images of metrics that an epoch's end left.
  void record_images();

  RunRequest& request;
  Hooks hooks;
  LogTable logs;
  Backward gradients;
  Str stop_reason;
  bool wants_stop = false;
  bool ends_epoch = false;
  std::vector<Str> saves;          ///< names that `save` was called with
  int64_t skipped = 0;             ///< updates dropped for numbers that are not finite
  Named grad_norms;                ///< of this window's updates, where computed
  std::function<void(const Optimizer&, Named&)> measure_grads;  ///< of GradNorm, in windows that are recorded; or null
  Tensor predicted;                ///< what `output` gave

 private:
  /// Clips, and keeps the norms from before; gives the norm, or -1 without clipping by norm.
  double measured_clip(Optimizer& optimizer);
  struct Reached {
    Optimizer* optimizer;
    double share;      ///< sum of the shares that came
    int64_t rows;
  };
  /// Whether a hook of the program may ask for `grad_norm`.
  bool wants_norm() const { return hooks.has(Hook::before_step) || hooks.has(Hook::after_step); }
  bool accepts(const at::Tensor& loss, const Location& location);
  void update(Optimizer& optimizer);
  void not_finite(const Fault& fault, const Str& what);
  Str tag_of(int slot) const;

  double share_ = 1;
  double weight_ = 1;
  bool is_last_row_ = true;
  bool has_updated_ = false;
  int64_t skipped_in_row_ = 0;
  std::vector<Reached> reached_;
};

/// The optimizer's tensors, metrics and logs of a run are these slots: of the steps of `roles` and of the callbacks.
std::vector<int> slots_of(const RunRequest& request, const std::vector<Role>& roles);

}  // namespace ltr
