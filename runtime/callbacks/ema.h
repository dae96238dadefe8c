#pragma once

#include <ATen/core/Tensor.h>

#include <functional>
#include <vector>

#include "runtime/checkpoint/archive.h"
#include "runtime/train/root_state.h"

namespace ltr {

/// The callback `Ema`: e = d · e + (1 - d) · w, in f32 at least, after each due step from `start` on. Before the first
/// one there is no average, and rounds use the weights themselves.
class Ema {
 public:
  /// R2004 for a decay outside of [0, 1). `epochs` says how many steps so many epochs are.
  Ema(const Value& call, RootState& root, const std::function<int64_t(double epochs)>& steps_of);

  /// Takes in the weights behind update number `global_step`, if it is due.
  void take_in(int64_t global_step, const at::Tensor& is_stopped = {});

  /// The averages in the place of the weights, if there are any; and the weights again, bit for bit, if they are not there.
  /// Where ranks divide weights, all call it together: if that fails, because one of them is gone, each has its own values.
  void put_in_place();
  void put_back();

  /// The averages as `ema.PATH`, none before the first due step.
  void visit(Archive& archive);
  int64_t updates() const { return updates_; }

 private:
  void begin();
  void put(const std::vector<at::Tensor>& values) const;

  RootState& root_;
  double decay_;
  int64_t every_;
  int64_t start_;
  bool ramps_;
  bool averages_buffers_;
  int64_t updates_ = 0;               ///< how often weights were taken in; 0: there is no average
  std::vector<at::Tensor> averages_;  ///< of what is here of root_.entries, once there is one
  std::vector<at::Tensor> kept_;      ///< the weights, while averages are in their place
};

}  // namespace ltr
