#pragma once

// Whether a run is where its topology wants it: in a job of its scheduler.

#include "runtime/distributed/launch.h"

namespace ltr::distributed {

/// What is said of a run with `scheduler = NAME` that this scheduler did not start; nothing where it did.
Option<Str> not_scheduled(const Str& scheduler, const Environment& environment);

}  // namespace ltr::distributed
