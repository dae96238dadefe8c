#pragma once

// Batch norm over the batches of several processes as if they were one.

#include <ATen/core/Tensor.h>

#include <functional>

namespace ltr {

/// How a step's sums cross processes.
struct JointSum {
  std::function<void(const at::Tensor&)> sum;  ///< in place, over all of them
  bool counts = true;                          ///< this process' batch is one of the joint batch's parts
};

/// The sums of the step that this thread runs; null where a process is by itself.
const JointSum* joint_sum();

/// Sets them while it lives.
class JointSumScope {
 public:
  explicit JointSumScope(const JointSum* sum);
  ~JointSumScope();
  JointSumScope(const JointSumScope&) = delete;
  JointSumScope& operator=(const JointSumScope&) = delete;

 private:
  const JointSum* before_;
};

/// What `batch_norm` gives in training: `x` [B, C, …] with mean 0 and variance 1 for each of the C channels of the joint
/// batch, times `weight`, plus `bias`; both [C] or undefined. Moves `running_mean` and `running_var` by `momentum`, the
/// latter towards the variance that divides by n - 1. R1006 where the joint batch has one value for each channel.
at::Tensor joint_batch_norm(const JointSum& joint, const at::Tensor& x, const at::Tensor& weight,
                            const at::Tensor& bias, const at::Tensor& running_mean, const at::Tensor& running_var,
                            double momentum, double eps);

}  // namespace ltr
