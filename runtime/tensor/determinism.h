#pragma once

// Which kernels a device may use (runtime.md 2.11). The CPU's give equal bits without being asked.

#include "ltr/api.h"

namespace ltr {

/// `true`: an op that has no deterministic kernel is R1008. `warn`: it is told once. `false`: all kernels may be used.
/// Before the first product on the device.
void set_determinism(const Str& mode);

}  // namespace ltr
