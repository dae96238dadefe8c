#pragma once

// `EarlyStop` of runtime.md 3.3.

#include "runtime/checkpoint/archive.h"

namespace ltr {

class EarlyStop {
 public:
  /// `is_max` is what `mode = auto` means for the monitored series.
  EarlyStop(const Value& call, bool is_max);
  const Str& monitor() const { return monitor_; }
  /// Why to stop now, "" to go on. Once per fresh value.
  Str take(double value);
  void visit(Archive& archive);

 private:
  bool beats(double value, double other, double by) const;
  Str monitor_;
  bool is_max_;
  int64_t patience_;
  double min_delta_;
  Option<double> threshold_;
  Option<double> divergence_;
  bool check_finite_;
  double best_ = 0;
  bool has_best_ = false;
  int64_t bad_ = 0;
};

}  // namespace ltr
