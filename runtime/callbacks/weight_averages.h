#pragma once

// Averages of weights that stand in for them in rounds, for the callbacks that keep some.

#include <ATen/core/Tensor.h>

#include <vector>

#include "runtime/checkpoint/archive.h"
#include "runtime/train/root_state.h"

namespace ltr {

class WeightAverages {
 public:
  explicit WeightAverages(RootState& root) : root_(root) {}

  /// How often weights were taken in; 0: there is no average.
  int64_t updates() const { return updates_; }
  /// Takes the weights in: the first time as they are, then each average goes this `part` of the way to its weight. Float buffers
  /// are averaged likewise with `with_buffers`, all others copied. `is_stopped`, of a device: bool[], whether nothing moves after all.
  void take_in(double part, bool with_buffers, const at::Tensor& is_stopped = {});

  /// The averages in the place of the weights, if there are any; and the weights again, bit for bit, if they are not there.
  /// Where ranks divide weights, all call it together: if that fails, because one of them is gone, each has its own values.
  void put_in_place();
  void put_back();
  /// While they are in place: the same again, whatever was written into weights and buffers meanwhile.
  void put_again() { put(averages_); }
  /// While they are in place: what became of the buffers `of` is theirs from now on.
  void keep(const std::vector<at::Tensor>& of);

  /// As `ema.PATH`, none before the first update.
  void visit(Archive& archive);

 private:
  void begin();
  void put(const std::vector<at::Tensor>& values) const;

  RootState& root_;
  int64_t updates_ = 0;
  std::vector<at::Tensor> averages_;  ///< of what is here of root_.entries, once there is one
  std::vector<at::Tensor> kept_;      ///< the weights, while averages are in their place
};

}  // namespace ltr
