#pragma once

// The cores of the machine that this process has.

#include <cstdint>

#include "runtime/distributed/place.h"

namespace ltr::cli {

/// How many it may run on.
int64_t own_cores();

/// How many ranks of its machine share them: all, unless a launcher bound each to some of its own.
int64_t ranks_sharing(const distributed::Place& place);

}  // namespace ltr::cli
