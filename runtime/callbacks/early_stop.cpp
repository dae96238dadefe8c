#include "runtime/callbacks/early_stop.h"

#include <cmath>

#include "runtime/callbacks/arguments.h"

namespace ltr {

EarlyStop::EarlyStop(const Value& call, bool is_max)
    : monitor_(text_argument(call, "monitor", "")),
      is_max_(is_max),
      patience_(int_argument(call, "patience", 3)),
      min_delta_(std::abs(float_argument(call, "min_delta", 0))),
      threshold_(optional_argument(call, "threshold")),
      divergence_(optional_argument(call, "divergence")),
      check_finite_(bool_argument(call, "check_finite", true)) {}

bool EarlyStop::beats(double value, double other, double by) const {
  return is_max_ ? value > other + by : value < other - by;
}

Str EarlyStop::take(double value) {
  if (check_finite_ && !std::isfinite(value)) return fmt::format("{} is {}", monitor_, value);
  if (threshold_ && beats(value, *threshold_, 0)) {
    return fmt::format("{} = {} passed the threshold {}", monitor_, value, *threshold_);
  }
  if (divergence_ && beats(*divergence_, value, 0)) {
    return fmt::format("{} = {} is worse than {}", monitor_, value, *divergence_);
  }
  if (!state.has_best || beats(value, state.best, min_delta_)) {
    state.best = value;
    state.has_best = !std::isnan(value);
    state.bad = 0;
    return "";
  }
  state.bad++;
  if (state.bad < patience_) return "";
  return fmt::format("{} did not improve on {} for {} rounds", monitor_, state.best, state.bad);
}

}  // namespace ltr
