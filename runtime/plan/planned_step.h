#pragma once

// A step that was recorded, differentiated where it minimizes, and run again on other batches.

#include "runtime/plan/cpu/cpu_plan.h"
#include "runtime/plan/recording.h"

namespace ltr::plan {

class PlannedStep {
 public:
  explicit PlannedStep(Recording recording);
  PlannedStep(const PlannedStep&) = delete;
  PlannedStep& operator=(const PlannedStep&) = delete;

  /// Why it cannot run.
  const Option<Refusal>& refusal() const { return recording_.refusal; }
  /// Learns from `batch` what it has to know of sizes, and makes a plan for this machine. Buffers take the batch in.
  void prepare(const Batch& batch, const std::shared_ptr<Arena>& arena);
  const Recording& recording() const { return recording_; }
  /// Does with `batch` what the step would: computes, and calls `cx` in the same order. Losses that are minimized have their
  /// gradient, and draws come from the key of this thread. Errors are those of the step, at its lines.
  /// `is_alone`: gradients are used up before the next batch, and may lie in the memory of the plan.
  void run(Context& cx, const Batch& batch, bool is_alone);
  /// The gradients of the loss of `part`, times `seed`, by the weights that it trains.
  Tensors gradients(size_t part, const Tensor& seed);
  /// How it runs on this machine; null where the reference runs it.
  const CpuPlan* cpu_plan() const { return cpu_.get(); }

 private:
  /// The nodes behind the forward ones that differentiate one loss.
  struct Part {
    ValueId loss, seed;
    size_t begin, end;
    std::vector<Tensor> weights;  ///< that the loss reaches
    std::vector<ValueId> gradients;
  };
  /// What is needed no more.
  struct Deaths {
    std::vector<std::vector<ValueId>> behind_node, behind_mark, behind_part;
  };

  void differentiate_marks();
  Deaths deaths() const;
  /// In the order in which they run: in front of each mark the nodes up to it, then its part if it has one; then the rest.
  std::vector<Stretch> stretches() const;
  template <class Set>
  void each_input(const Batch& batch, const Set& set) const;
  /// Computes the next stretch.
  void compute(size_t begin, size_t end);
  /// What is not overwritten by the next run.
  Tensor taken(ValueId id) const;
  Tensor with_gradient(size_t part);
  [[noreturn]] void explain() const;

  Recording recording_;
  size_t forward_end_;
  std::vector<Part> parts_;
  std::vector<Option<size_t>> part_of_;  ///< of each mark
  Deaths deaths_;
  Option<Reference> reference_;
  std::unique_ptr<CpuPlan> cpu_;
  // Of the run that goes on.
  const Batch* batch_ = nullptr;
  size_t stretch_ = 0;
  std::vector<bool> ran_;  ///< parts
  bool is_alone_ = false;
};

}  // namespace ltr::plan
