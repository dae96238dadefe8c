#pragma once

// Names of series: as programs write them, and as they are recorded.

#include <cstdint>
#include <optional>

#include "ltr/api.h"

namespace ltr {

/// Of the class `i` of a metric of several values, as programs write it: `val.acc[3]`.
Str series_of_class(const Str& series, int64_t i);
/// What tells the two columns of a log on both.
constexpr const char* kStepSuffix = "_step";
constexpr const char* kEpochSuffix = "_epoch";

/// As it is recorded: `val/acc` of `val.acc`, `val/acc/3` of `val.acc[3]`, with the suffix `val/acc_step/3`.
Str recorded_name(Str series, const Str& suffix = "");
/// The 3 of the recorded name `val/acc/3`; nothing of what is no value of a class.
std::optional<int64_t> class_number(const Str& recorded);

}  // namespace ltr
