#pragma once

// `EarlyStop` of runtime.md 3.3.

#include "ltr/api.h"

namespace ltr {

class EarlyStop {
 public:
  /// `is_max` is what `mode = auto` means for the monitored series.
  EarlyStop(const Value& call, bool is_max);
  const Str& monitor() const { return monitor_; }
  /// Why to stop now, "" to go on. Once per fresh value.
  Str take(double value);

  /// What a checkpoint keeps.
  struct State {
    double best = 0;
    bool has_best = false;
    int64_t bad = 0;
  };
  State state;

 private:
  bool beats(double value, double other, double by) const;
  Str monitor_;
  bool is_max_;
  int64_t patience_;
  double min_delta_;
  Option<double> threshold_;
  Option<double> divergence_;
  bool check_finite_;
};

}  // namespace ltr
