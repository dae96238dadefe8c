#pragma once

#include "ltr/api.h"

namespace ltr {

/// What `step predict` returned, a JSON object for each record: `{"label":3,"probs":[0.1,0.9]}`. A number that is not finite is
/// "NaN", "Infinity" or "-Infinity".
std::vector<Str> json_rows(const Outputs& outputs);

}  // namespace ltr
