#pragma once

// Memory of tensors on the CPU. A training step frees what the next one asks for again: the pool keeps it, so that no
// step after the first goes to the operating system, whose fresh pages cost more than filling them.

#include <cstdint>

namespace ltr {

/// From here on LibTorch's CPU tensors come from the pool. Called once, before the first of them. A build with a
/// sanitizer leaves them where it can watch them.
///
/// Large ones lie on huge pages where the system allows. What a run needed once it keeps until it ends.
void use_memory_pool();

/// Gives the system what nothing uses now. For where much was needed once, and something else is needed next.
void give_back_memory();

/// Bytes of tensors that this thread made, in all; what they took is not what is live. 0 without the pool.
int64_t bytes_taken_here();

}  // namespace ltr
