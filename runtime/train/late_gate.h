#pragma once

// The gate for numbers that are not finite where they come later than the host goes on (runtime.md 2.8). The device itself
// holds the update back; what it saw goes to the host beside the work, and is judged there `host_ahead` windows later by
// the rules of FiniteGate. Until then, with `nan = stop`, every update behind the first hit is held back too.

#include <array>
#include <deque>
#include <memory>
#include <vector>

#include "runtime/tensor/accelerator.h"
#include "runtime/train/finite_gate.h"
#include "runtime/train/loss_scale.h"

namespace ltr {

class LateGate {
 public:
  LateGate(const RunRequest& request, FiniteGate& gate, LossScale& scale);

  /// Whether it, not FiniteGate, decides: the run computes on a device, and nobody asked to look at every batch.
  bool is_on() const { return is_on_; }
  void begin_window(int64_t step);
  /// A batch whose losses come now.
  void begin_row(const Batch& batch, int64_t epoch, int64_t number);
  /// `optimizer` is null in a manual step.
  void saw_loss(const at::Tensor& loss, const Optimizer* optimizer, const Location& location);
  /// Whether it looks at losses at all.
  bool looks() const { return is_on_ && !request_.flags.bare; }
  /// bool[]: whether the window has a loss of `optimizer` that is not finite, on this rank.
  at::Tensor bad_loss(const Optimizer& optimizer) const;
  /// f32[]: 1 if the update of `optimizer` must not happen; undefined where nothing is looked at. `bad_losses` counts the
  /// ranks with a `bad_loss`; undefined for a process by itself. `norm` is of its gradients, `overflow` what LossScale found in them;
  /// both may be undefined.
  at::Tensor blocked(const Optimizer& optimizer, const at::Tensor& bad_losses, const at::Tensor& norm,
                     const at::Tensor& overflow);
  /// What the window saw goes to the host; the one `host_ahead` windows ago is judged: R4001, R4002 or R4003, with
  /// `culprit` the batch it was.
  void end_window();
  /// Waits for all of them, for who must know: a checkpoint.
  void learn_all();

  /// bool[] on the device: whether there was a hit, and with it an end to all updates; undefined where the host knows.
  const at::Tensor& is_stopped() const { return stopped_; }

  /// The batch that brought the error that was thrown.
  struct Culprit {
    int64_t step = 0;  ///< whose update did not happen: the weights are those before it
    int64_t epoch = 0;
    int64_t number = 0;
    Batch batch;
  };
  const Option<Culprit>& culprit() const { return culprit_; }

 private:
  struct Row {
    Batch batch;
    int64_t epoch;
    int64_t number;
  };
  struct Loss {
    const Optimizer* optimizer;  ///< null: of a manual step, whose gradients any update may take
    Location location;
    size_t row;
    bool is_of(const Optimizer& one) const { return optimizer == nullptr || optimizer == &one; }
  };
  struct Update {
    const Optimizer* optimizer;
    size_t first;  ///< of its numbers: blocked, norm, overflow, ranks whose loss was bad
  };
  /// One window: its numbers on their way, and what they are of.
  struct Window {
    int64_t step = 0;
    std::vector<Row> rows;
    std::vector<Loss> losses;  ///< number i is loss i
    std::vector<Update> updates;
    std::vector<at::Tensor> there;  ///< scalars on the device
    at::Tensor here;
    std::unique_ptr<QueueMark> mark;
  };

  at::Tensor put(const at::Tensor& scalar);
  /// Judges the oldest windows, so that no more than `most` wait.
  void judge_until(size_t most);
  void judge(const Window& window);
  void judge_update(const Window& window, const Update& update, const double* numbers);
  /// Runs `refuse`, which may throw: then row `row` is the culprit.
  template <class Refuse>
  void refusing(const Window& window, size_t row, Refuse&& refuse);

  const RunRequest& request_;
  FiniteGate& gate_;
  LossScale& scale_;
  bool is_on_;
  at::Tensor zero_;
  at::Tensor stopped_;  ///< bool[]: there was a hit, and `nan` is stop
  std::vector<at::Tensor> losses_there_;
  std::vector<std::array<at::Tensor, 4>> updates_there_;
  Window now_;
  std::deque<Window> windows_;
  Option<Culprit> culprit_;
};

}  // namespace ltr
