#pragma once

#include "runtime/api/error.h"

namespace ltr {

/// What was needed for a backward pass is no more.
inline Error weight_moved() {
  return error_here(err::settings_contradict,
                    "a weight moved between a loss and its backward pass, which needs it as it was");
}

}  // namespace ltr
