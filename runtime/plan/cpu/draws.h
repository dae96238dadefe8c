#pragma once

// What planned steps draw: the numbers of runtime/tensor/draw.h, element by element.

#include <cstdint>

namespace ltr::plan {

/// Of `n` elements that begin at element `first` of a mask drawn at `site`, `keep` of all stay, times 1 / keep; the others become 0.
/// `words` has room for n + 2 · 64 numbers; `to` may be `x`.
void keep_some(const float* x, uint64_t key, uint64_t site, double keep, int64_t first, int64_t n, uint32_t* words,
               float* to);

/// Elements [first, first + n) of a tensor that is drawn at `site`, into `to`: uniform in [low, high), normal, and whole in [low, high).
template <class T>
void draw_uniform(uint64_t key, uint64_t site, double low, double high, int64_t first, int64_t n, T* to);
void draw_normal(uint64_t key, uint64_t site, double mean, double std, int64_t first, int64_t n, float* to);
void draw_whole(uint64_t key, uint64_t site, int64_t low, int64_t high, int64_t first, int64_t n, int64_t* to);
/// 0 … n - 1 in random order; `random` has room for n.
void draw_permutation(uint64_t key, uint64_t site, int64_t n, int64_t* random, int64_t* to);

}  // namespace ltr::plan
