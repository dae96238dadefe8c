#pragma once

// Periods of a part of an epoch, `0.5 epochs`, or of whole ones and a part, `1.5 epochs`: counted in updates, from the first.

#include <algorithm>
#include <cmath>
#include <functional>

#include "runtime/train/windows.h"

namespace ltr {

class EpochParts {
 public:
  /// How many updates so many epochs have.
  using Updates = std::function<double(double epochs)>;

  /// Nothing for whole epochs, and what is not in epochs.
  static Option<EpochParts> of(const Value& period, Updates updates) {
    if (period.kind != Value::Kind::Epochs || period.real == std::floor(period.real)) return std::nullopt;
    return EpochParts(period.real, std::move(updates));
  }
  static Option<EpochParts> of(const Value& period, const Windows& windows) { return of(period, updates_of(windows)); }
  static Updates updates_of(const Windows& windows) {
    return [&windows](double epochs) { return windows.updates(epochs); };
  }

  /// How many periods are over behind so many updates, of which it is never asked for fewer. Each has one update at least.
  int64_t over(int64_t updates) {
    while (end_ <= updates) end_ = end_of(++over_ + 1);
    return over_;
  }
  /// Whether one ends with this update.
  bool end_with(int64_t update) {
    const int64_t before = over(update - 1);
    return over(update) > before;
  }

 private:
  EpochParts(double every, Updates updates) : every_(every), updates_(std::move(updates)), end_(end_of(1)) {}
  /// Three times 0.7 is a little less than 2.1.
  int64_t end_of(int64_t period) const { return std::max(int64_t(updates_(double(period) * every_) + 1e-6), period); }

  double every_;
  Updates updates_;
  int64_t over_ = 0;
  int64_t end_;  ///< of the period under way
};

}  // namespace ltr
