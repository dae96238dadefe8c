#pragma once

// The memory of the machine that this process may use.

#include <cstdint>

namespace ltr::doors {

/// In bytes: what the machine has, or the limit of the container, where that is less.
int64_t own_memory();

}  // namespace ltr::doors
