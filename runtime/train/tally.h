#pragma once

#include <algorithm>

#include "ltr/api.h"

namespace ltr {

/// Numbers of one `log` that become one, as its `reduce` says: those of a window or of an epoch, of one rank or of all.
struct Tally {
  double sum = 0;  ///< of the values, times their weights unless they are summed
  double weight = 0;
  double least = 0, most = 0;  ///< once there is a value
  int64_t count = 0;

  void add(double value, double of_weight, Reduce how) {
    const double added = how == Reduce::Sum ? value : value * of_weight;
    add({.sum = added, .weight = of_weight, .least = value, .most = value, .count = 1});
  }
  void add(const Tally& other) {
    if (other.count == 0) return;
    least = count == 0 ? other.least : std::min(least, other.least);
    most = count == 0 ? other.most : std::max(most, other.most);
    sum += other.sum;
    weight += other.weight;
    count += other.count;
  }
  /// Whether it has a value: a mean hangs on what has weight.
  bool has_value(Reduce how) const { return count > 0 && (weight > 0 || !is_mean(how)); }
  double value(Reduce how) const {
    return is_mean(how) ? sum / weight : how == Reduce::Sum ? sum : how == Reduce::Min ? least : most;
  }

 private:
  static bool is_mean(Reduce how) { return how != Reduce::Sum && how != Reduce::Min && how != Reduce::Max; }
};

}  // namespace ltr
