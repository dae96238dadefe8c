#pragma once

// What planned steps draw: the numbers of runtime/tensor/draw.h, element by element.

#include <cstdint>

namespace ltr::plan {

/// Of `n` elements that begin at element `first` of a mask drawn at `site`, `keep` of all stay, times 1 / keep; the others become 0.
/// `words` has room for n + 2 · 64 numbers; `to` may be `x`.
void keep_some(const float* x, uint64_t key, uint64_t site, double keep, int64_t first, int64_t n, uint32_t* words,
               float* to);

}  // namespace ltr::plan
