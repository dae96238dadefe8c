#pragma once

// What numbers may be: the ranges in `settings.def` and `ranges.def`. Plain C++, since the compiler reads them, too.

#include <limits>
#include <optional>
#include <string>
#include <string_view>

#include "runtime/tables/precisions.h"
#include "runtime/tables/schedulers.h"
#include "runtime/tables/strategies.h"

namespace ltr {

/// Numbers from `low` to `high`; an open end is not one of them.
struct Range {
  double low = -std::numeric_limits<double>::infinity();
  double high = std::numeric_limits<double>::infinity();
  bool is_low_open = false;
  bool is_high_open = false;
};
constexpr Range any_number() { return {}; }
constexpr Range at_least(double low) { return {.low = low}; }
constexpr Range above(double low) { return {.low = low, .is_low_open = true}; }
/// Above 0; `high` is one of them.
constexpr Range up_to(double high) { return {.low = 0, .high = high, .is_low_open = true}; }
constexpr Range at_most(double high) { return {.high = high}; }
constexpr Range between(double low, double high) { return {.low = low, .high = high}; }
/// `low` is one of them, `high` is not.
constexpr Range from_below(double low, double high) { return {.low = low, .high = high, .is_high_open = true}; }

/// The rule of `path` that `value` breaks, as `.ltr` says it: `epochs >= 1`. Nothing if it keeps to the range, or has none.
/// `is_counted`: it has a unit, and where a part has an end above, 1, such a count has none.
inline std::optional<std::string> broken_rule(std::string_view path, double value, bool is_counted = false) {
  struct Row {
    std::string_view path;
    Range range;
  };
  static constexpr Row kRows[] = {
#define LTR_SETTING(path, type, initial, range, doc) {path, range},
#include "runtime/tables/settings.def"
#define LTR_RANGE(path, range) {path, range},
#include "runtime/tables/ranges.def"
#undef LTR_RANGE
  };
  const std::string name(path.substr(path.rfind('.') + 1));
  const auto rule = [&](const char* op, double bound) {
    return name + " " + op + " " + std::to_string(int64_t(bound));
  };
  for (const auto& [own, range] : kRows) {
    if (own != path) continue;
    // A number that is none keeps to no end that there is.
    constexpr double kNoEnd = std::numeric_limits<double>::infinity();
    if (range.low != -kNoEnd && !(range.is_low_open ? value > range.low : value >= range.low))
      return rule(range.is_low_open ? ">" : ">=", range.low);
    if (range.high != kNoEnd && !is_counted && !(range.is_high_open ? value < range.high : value <= range.high))
      return rule(range.is_high_open ? "<" : "<=", range.high);
  }
  return std::nullopt;
}

}  // namespace ltr
