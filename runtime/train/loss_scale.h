#pragma once

// The scale of the loss with `precision = f16`, whose smallest numbers are not small enough for gradients (runtime.md 2.7).
// It lives on the device: the host reads none of it before a checkpoint.

#include <ATen/core/Tensor.h>

#include <vector>

#include "runtime/checkpoint/archive.h"
#include "runtime/train/ranks.h"

namespace ltr {

class LossScale {
 public:
  /// The scale begins here, doubles after so many good windows in a row, and halves after one that overflowed.
  static constexpr double kFirst = 65536;
  static constexpr int64_t kGoodWindows = 2000;

  /// Off, unless the precision of the run needs one.
  LossScale();

  bool is_on() const { return scale_.defined(); }
  /// What the gradient of `loss` begins with: `share` times the scale, of the loss' type and shape.
  at::Tensor begin(const at::Tensor& loss, double share) const;
  /// Divides gradients by the scale. f32[]: above 0 if one of them is not finite, on any of the ranks that hold them together.
  at::Tensor unscale(const std::vector<at::Tensor>& grads, const Ranks& holders = one_rank());
  /// The scale for the next window follows from what `unscale` found in this one.
  void end_window();
  /// f32[].
  const at::Tensor& scale() const { return scale_; }

  void visit(Archive& archive);

 private:
  at::Tensor scale_;  ///< f32[], undefined: off
  at::Tensor good_;   ///< i32[], good windows in a row
  at::Tensor found_;  ///< f32[] of this window, undefined before its first `unscale`
};

}  // namespace ltr
