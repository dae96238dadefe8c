#pragma once

// A step that was recorded, differentiated where it minimizes, and run again on other batches.

#include "runtime/plan/recording.h"
#include "runtime/plan/reference.h"

namespace ltr::plan {

class PlannedStep {
 public:
  explicit PlannedStep(Recording recording);
  PlannedStep(const PlannedStep&) = delete;
  PlannedStep& operator=(const PlannedStep&) = delete;

  /// Why it cannot run.
  const Option<Refusal>& refusal() const { return recording_.refusal; }
  const Recording& recording() const { return recording_; }
  /// Does with `batch` what the step would: computes, and calls `cx` in the same order. Losses that are minimized have their
  /// gradient, and draws come from the key of this thread. Errors are those of the step, at its lines.
  void run(Context& cx, const Batch& batch);
  /// The gradients of the loss of `part`, times `seed`, by the weights that it trains.
  Tensors gradients(size_t part, const Tensor& seed);

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
  Tensor with_gradient(size_t part);

  Recording recording_;
  size_t forward_end_;
  std::vector<Part> parts_;
  std::vector<Option<size_t>> part_of_;  ///< of each mark
  Deaths deaths_;
  Option<Reference> reference_;
};

}  // namespace ltr::plan
