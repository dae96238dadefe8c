#pragma once

// How several values become one: those of batches that `log` records, those of ranks in the states of a metric.

#include <algorithm>
#include <iterator>
#include <string_view>

namespace ltr::check {

struct Reduction {
  std::string_view name;
  bool is_of_logs;  ///< `log` has it, too; the others are of states alone
};

inline constexpr Reduction kReductions[] = {
    {"sum", true}, {"mean", true}, {"min", true}, {"max", true}, {"cat", false},
};

/// The row of that name, or nullptr.
constexpr const Reduction* find_reduction(std::string_view name) {
  const auto* row = std::find_if(std::begin(kReductions), std::end(kReductions),
                                 [&](const Reduction& one) { return one.name == name; });
  return row == std::end(kReductions) ? nullptr : row;
}

}  // namespace ltr::check
