#pragma once

// Work of our own on LibTorch's threads.

#include <c10/util/FunctionRef.h>

#include <cstdint>

namespace ltr {

/// Runs `part(from, to)` for parts of [begin, end), at least `grain` long, with as many threads as ops compute with
/// here, alone where that is one part or inside another parallel region. Exceptions of a part are thrown here.
void parallel_for(int64_t begin, int64_t end, int64_t grain, c10::function_ref<void(int64_t, int64_t)> part);

}  // namespace ltr
