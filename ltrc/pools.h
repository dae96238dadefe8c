#pragma once

namespace ltr::driver {

/// From here on the small pieces of memory that this thread takes come from pools, one for each size, and go back there: a phase
/// makes and frees so many that the allocator of the C library would be a sixth of its time. Asked for by one thread, once.
void use_pools();

}  // namespace ltr::driver
