#pragma once

// `Swa` of runtime.md 3.3 and 2.9: weights averaged over the last epochs, while the rate stays high. Izmailov et al. 2018.

#include <vector>

#include "runtime/callbacks/weight_averages.h"

namespace ltr {

class Swa {
 public:
  /// R2003 for an `anneal` that counts seconds.
  Swa(const Value& call, RootState& root);

  bool has_begun() const { return first_epoch_ >= 0; }
  /// It begins with update `step`, the first of `epoch`: rates go from what they are there.
  void begin(int64_t epoch, int64_t step);
  /// The rates of updates from `step` on, in `epoch`.
  void set_rates(int64_t epoch, int64_t step) const;
  /// How far rates are, from 0 where it begins to 1.
  double way(int64_t epoch, int64_t step) const;
  /// An epoch is over.
  void take_in(const at::Tensor& is_stopped = {});
  WeightAverages& averages() { return averages_; }
  void visit(Archive& archive);

 private:
  RootState& root_;
  WeightAverages averages_;
  double lr_;
  double anneal_;
  bool in_steps_;
  bool is_cosine_;
  int64_t first_epoch_ = -1;
  int64_t first_step_ = -1;
  std::vector<double> rates_;  ///< where it began, of the groups of each optimizer
};

}  // namespace ltr
