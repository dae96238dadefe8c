#pragma once

// A loss whose gradient something else than autograd computes.

#include <ATen/core/Tensor.h>

namespace ltr::plan {

class LossGradient {
 public:
  LossGradient() = default;
  LossGradient(const LossGradient&) = delete;
  LossGradient& operator=(const LossGradient&) = delete;
  virtual ~LossGradient() = default;

  /// Adds the gradients of the loss, times `factor`, to those of the weights that it trains.
  virtual void add(double factor) = 0;

  /// That of `loss` on this thread; null where autograd has it.
  static LossGradient* of(const at::Tensor& loss);
  /// While it lives, `loss` has `gradient` on this thread.
  class Scope {
   public:
    Scope(const at::Tensor& loss, LossGradient& gradient);
    ~Scope();
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;
  };
};

}  // namespace ltr::plan
