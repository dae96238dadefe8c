#pragma once

// Which kernels a device may use (runtime.md 2.11). The CPU's give equal bits without being asked.

#include <functional>

#include "ltr/api.h"

namespace ltr {

/// `true`: an op that has no deterministic kernel is R1008. `warn`: `tell` is given the name of each, once. `false`: all
/// kernels may be used. What else LibTorch warns of in this thread is said once from here on. Before the first product on the
/// device.
void set_determinism(const Str& mode, const std::function<void(const Str& op)>& tell);

/// The op of which LibTorch's `text` says that it has no deterministic kernel, "" if it speaks of something else.
Str without_deterministic_form(const Str& text);

}  // namespace ltr
