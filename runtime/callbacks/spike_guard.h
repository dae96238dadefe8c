#pragma once

// `SpikeGuard` of runtime.md 3.3.

#include <deque>

#include "runtime/checkpoint/archive.h"

namespace ltr {

class SpikeGuard {
 public:
  explicit SpikeGuard(const Value& call);
  const Str& series() const { return series_; }
  bool stops() const { return stops_; }
  /// What is wrong with `value`, "" if nothing. A spike is no part of the mean that later ones are compared with.
  Str take(double value);
  void visit(Archive& archive);

 private:
  Str series_;
  int64_t window_;
  int64_t warmup_;
  double rtol_;
  Option<double> atol_;
  bool stops_;
  std::deque<double> values_;  ///< the newest that are no spikes, `window` at most
  int64_t seen_ = 0;           ///< values of the warm-up that were taken
};

}  // namespace ltr
