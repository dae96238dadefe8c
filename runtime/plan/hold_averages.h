#pragma once

#include "runtime/plan/recording.h"

namespace ltr::plan {

/// A batch norm of evaluation that gradients pass, or that is computed again, of averages that one in training moves behind it, as `frozen(net)(x)` in front of `net(x)`
/// has: it takes copies of them, so that its gradient is that of what it computed. Needs a recording before anything is appended to it.
void hold_averages(Recording& recording);

}  // namespace ltr::plan
