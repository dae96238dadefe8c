#pragma once

#include <functional>

#include "runtime/callbacks/weight_averages.h"

namespace ltr {

/// The callback `Ema`: e = d · e + (1 - d) · w, in f32 at least, after each due step from `start` on. Before the first
/// one there is no average, and rounds use the weights themselves.
class Ema {
 public:
  /// R2004 for a decay outside of [0, 1). `epochs` says how many steps so many epochs are.
  Ema(const Value& call, RootState& root, const std::function<int64_t(double epochs)>& steps_of);

  /// Takes in the weights behind update number `global_step`, if it is due.
  void take_in(int64_t global_step, const at::Tensor& is_stopped = {});
  WeightAverages& averages() { return averages_; }

 private:
  WeightAverages averages_;
  double decay_;
  int64_t every_;
  int64_t start_;
  bool ramps_;
  bool averages_buffers_;
};

}  // namespace ltr
