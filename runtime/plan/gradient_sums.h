#pragma once

// Gradients of windows of several batches, which outlive the run that gives them.

#include <ATen/core/Tensor.h>

#include <vector>

namespace ltr::plan {

/// Sums in memory that stays from one window to the next: once there is one for each weight, one more takes no memory of the heap.
class GradientSums {
 public:
  /// What begins the sum of weight number `weight`: equal to `gradient`, and overwritten by nobody while it is held.
  at::Tensor begin(size_t weight, const at::Tensor& gradient);

 private:
  std::vector<at::Tensor> made_;  ///< by weight
};

/// sum += gradient, which may be sparse.
void add_gradient(at::Tensor& sum, const at::Tensor& gradient);

}  // namespace ltr::plan
