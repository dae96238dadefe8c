#pragma once

#include <map>
#include <vector>

#include "dsl/elaborate/planned.h"

/// When the calls of a planned step run, and what lies in memory then.
namespace ltr::elaborate {

constexpr size_t kNoValue = size_t(-1);

/// The calls of one stretch in phases, from `phase` on, as `runtime/plan/cpu/schedule.cpp` has them; the first behind them.
size_t schedule(PlannedStep& step, size_t begin, size_t end, size_t phase);

/// Numbers of all values when there are most. `ends`: values that are read at the end of a stretch, by its number;
/// `last_phases`: of each stretch.
double peak_of(const PlannedStep& step, const std::map<size_t, size_t>& ends, const std::vector<size_t>& last_phases);

}  // namespace ltr::elaborate
