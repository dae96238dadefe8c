#pragma once

// The memory of the machine that this process may use.

#include <cstdint>

namespace ltr::doors {

/// In bytes: what the machine has, or the limit of the container, where that is less.
int64_t own_memory();
/// Of that, what nobody uses now; files that the machine has read ahead make room.
int64_t free_memory();
/// From here on this process gets so many bytes of memory more and is refused what is beyond, as if the machine had no more. A lower
/// limit that it has stays.
void limit_memory(int64_t more);
/// What this process may take, if that has a limit, is less by `bytes` from now on.
void lower_memory_limit(int64_t bytes);
/// What the process holds now.
int64_t resident_memory();
/// Most that it ever held at once.
int64_t peak_memory();

}  // namespace ltr::doors
