#pragma once

// What losses and their gradients have in common.

#include <ATen/core/Reduction.h>

#include "ltr/api.h"

namespace ltr {

/// Of `sum` or `mean`.
inline int64_t reduction_of(const Str& name) {
  return name == "sum" ? at::Reduction::Sum : name == "none" ? at::Reduction::None : at::Reduction::Mean;
}

/// No class has this number, so a loss that ignores it ignores nothing.
inline constexpr int64_t kNoClass = INT64_MIN;

}  // namespace ltr
