#pragma once

// A step that was recorded, differentiated where it minimizes, and run again on other batches.

#include "runtime/plan/copies.h"
#include "runtime/plan/cpu/cpu_plan.h"
#include "runtime/plan/gradient_sums.h"
#include "runtime/plan/loss_gradient.h"
#include "runtime/plan/needed_weights.h"
#include "runtime/plan/profile_text.h"
#include "runtime/plan/recording.h"
#include "runtime/plan/replays.h"

namespace ltr::plan {

/// What becomes of the gradients of a batch.
struct GradientUse {
  bool is_alone = false;    ///< they are used up before the next batch, and may lie in the memory of the plan
  bool takes_rows = false;  ///< those of tables may be sparse
};

/// Where the time that a plan took to make went, in seconds.
struct PlanningTimes {
  double recording = 0;  ///< runs that were listened to
  double gradients = 0;  ///< differentiating
  double sizes = 0;      ///< of gradients
  double calls = 0;      ///< kernels, their order and their places

  double sum() const { return recording + gradients + sizes + calls; }
};

class PlannedStep {
 public:
  explicit PlannedStep(Recording recording);
  PlannedStep(const PlannedStep&) = delete;
  PlannedStep& operator=(const PlannedStep&) = delete;

  /// Why it cannot run.
  const Option<Refusal>& refusal() const { return recording_.refusal; }
  /// Learns from `batch` what it has to know of sizes, and makes a plan for this machine with at most `threads`. Buffers take the batch in.
  /// `narrows`: its products round what they multiply to bf16.
  void prepare(const Batch& batch, int threads, const std::shared_ptr<Arena>& arena, bool narrows = false);
  /// Whether an accelerator has to capture it before it runs again.
  bool wants_capture() { return replays_ && replays_->is_due(); }
  /// Computes with `batch` what the step would, for that; of what the step does beside only buffers take the batch in.
  void capture(const Batch& batch);
  const Recording& recording() const { return recording_; }
  /// Does with `batch` what the step would: computes, and calls `cx` in the same order. Losses that are minimized have their
  /// gradient, and draws come from the key of this thread. Errors are those of the step, at its lines.
  void run(Context& cx, const Batch& batch, const GradientUse& use);
  /// What making it took, without its recording.
  const PlanningTimes& planning() const { return planning_; }
  /// How it runs on this machine; null where the reference runs it.
  const CpuPlan* cpu_plan() const { return cpu_.get(); }
  /// Likewise on an accelerator; null where nothing of it can be captured.
  const Replays* replays() const { return replays_.get(); }
  /// Times are taken from now on; while `traces`, of each call by itself.
  void measure(const bool& traces);
  Measured measured() const;

 private:
  /// The nodes behind the forward ones that differentiate one loss.
  struct Part {
    ValueId loss, seed;
    size_t begin, end;
    std::vector<Tensor> weights;  ///< that the loss reaches
    std::vector<ValueId> gradients;
    std::vector<bool> rests;  ///< weights of which a row without a gradient does not move
    /// Gradients that are, or lie in, one before them, or that of the loss: of `a + b` both weights have the same. Known from the first run on.
    std::vector<bool> shared;
    std::vector<NeededWeight> needs;
    double factor = 0;  ///< of the newest run, and as a value
    Tensor factor_value;
    GradientSums sums;  ///< where a window has several batches
  };
  /// Between a loss and the weights that it trains: so accumulation, clipping, gates and hooks take a plan's gradients as they take any
  /// other.
  class GradientOfPart : public LossGradient {
   public:
    GradientOfPart(PlannedStep& step, size_t part) : step_(step), part_(part) {}
    void add(double factor) override { step_.add_gradients(part_, factor); }

   private:
    PlannedStep& step_;
    size_t part_;
  };
  /// What is needed no more.
  struct Deaths {
    std::vector<std::vector<ValueId>> behind_node, behind_mark, behind_part;
  };

  void find_sizes(const Batch& batch, const std::vector<Stretch>& order);
  void differentiate_marks();
  /// The gradients of a part as one node.
  void add_autograd(Part& part, const std::vector<ValueId>& by, const Mark& mark);
  /// Leaves out what is computed twice.
  void simplify_nodes();
  Deaths deaths() const;
  /// In the order in which they run: in front of each mark the nodes up to it, then its part if it has one; then the rest.
  std::vector<Stretch> stretches() const;
  template <class Set>
  void each_input(const Batch& batch, const Set& set) const;
  void run_all(Context& cx, const Batch& batch, const GradientUse& use);
  /// The gradient of the loss of `part` itself.
  const Tensor& seed_of(Part& part, double factor);
  /// Computes the next stretch.
  void compute(size_t begin, size_t end);
  /// What weights are in front of `mark`, for gradients that need them so.
  void note_versions(size_t mark);
  /// `part`: of the loss that it minimizes, if it does.
  void apply_mark(Context& cx, const Mark& mark, const Option<size_t>& part);
  /// Whether values lie where the next run writes.
  bool lends_values() const { return cpu_ || (replays_ && replays_->lends_values()); }
  /// What is not overwritten by the next run.
  Tensor taken(ValueId id);
  /// Adds the gradients of the loss of `part`, times `factor`, to those of the weights that it trains.
  void add_gradients(size_t part, double factor);
  at::Tensor gradient_of(ValueId id) const;
  /// Which gradients of a part, which has run, lie where others do.
  void find_shared(Part& part) const;
  [[noreturn]] void explain() const;

  Recording recording_;
  size_t forward_end_;
  bool has_autograd_;  ///< that of LibTorch, instead of nodes of gradients
  std::vector<Part> parts_;
  std::vector<Option<size_t>> part_of_;  ///< of each mark
  Deaths deaths_;
  Option<Reference> reference_;
  std::unique_ptr<CpuPlan> cpu_;
  Copies copies_;
  std::unique_ptr<Replays> replays_;
  // Of the run that goes on.
  const Batch* batch_ = nullptr;
  size_t stretch_ = 0;
  std::vector<bool> ran_;  ///< parts
  GradientUse use_;
  Option<Measured> measured_;
  PlanningTimes planning_;
};

}  // namespace ltr::plan
