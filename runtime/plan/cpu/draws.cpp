#include "runtime/plan/cpu/draws.h"

#include <algorithm>
#include <cmath>

#include "runtime/kernels/pointwise.h"
#include "runtime/tensor/draw_group.h"
#include "runtime/tensor/philox.h"

namespace ltr::plan {

void keep_some(const float* x, uint64_t key, uint64_t site, double keep, int64_t first, int64_t n, uint32_t* words,
               float* to) {
  constexpr auto kGroup = int64_t(kPhiloxGroup);
  const auto limit = uint64_t(std::llround(keep * 0x1.0p32));
  const auto scale = float(1 / keep);
  if (limit > UINT32_MAX) {
    for (int64_t i = 0; i < n; ++i) to[i] = x[i] * scale;
    return;
  }
  const int64_t begin = first / kGroup, end = (first + n - 1) / kGroup + 1;
  philox_words(key, site, uint64_t(begin), size_t(end - begin), words);
  kernels::point_kernel().keep(x, words + first % kGroup, uint32_t(limit), scale, to, n);
}

namespace {

/// `fill(words, count, out)` for every group that has elements of [first, first + n); what lies before and behind stays out.
template <class T, class Fill>
void fill_part(uint64_t key, uint64_t site, int64_t first, int64_t n, T* to, const Fill& fill) {
  constexpr auto kGroup = int64_t(kPhiloxGroup);
  uint32_t words[kPhiloxGroup * kWordsOf<T>];
  T numbers[kPhiloxGroup];
  for (int64_t at = first; at < first + n;) {
    const int64_t group = at / kGroup, begin = at % kGroup, count = std::min(kGroup - begin, first + n - at);
    philox_words(key, site, uint64_t(group) * kWordsOf<T>, kWordsOf<T>, words);
    fill(words, begin + count, numbers);
    std::copy_n(numbers + begin, count, to + (at - first));
    at += count;
  }
}

}  // namespace

template <class T>
void draw_uniform(uint64_t key, uint64_t site, double low, double high, int64_t first, int64_t n, T* to) {
  fill_part(key, site, first, n, to,
            [&](const uint32_t* words, int64_t count, T* out) { uniform_group(words, count, low, high, out); });
}
template void draw_uniform(uint64_t, uint64_t, double, double, int64_t, int64_t, float*);
template void draw_uniform(uint64_t, uint64_t, double, double, int64_t, int64_t, double*);

void draw_normal(uint64_t key, uint64_t site, double mean, double std, int64_t first, int64_t n, float* to) {
  fill_part(key, site, first, n, to,
            [&](const uint32_t* words, int64_t count, float* out) { normal_group(words, count, mean, std, out); });
}

void draw_whole(uint64_t key, uint64_t site, int64_t low, int64_t high, int64_t first, int64_t n, int64_t* to) {
  fill_part(key, site, first, n, to,
            [&](const uint32_t* words, int64_t count, int64_t* out) { whole_group(words, count, low, high, out); });
}

void draw_permutation(uint64_t key, uint64_t site, int64_t n, int64_t* random, int64_t* to) {
  fill_part(key, site, 0, n, random, [&](const uint32_t* words, int64_t count, int64_t* out) {
    for (int64_t i = 0; i < count; ++i) out[i] = int64_t(whole_bits(words, i));
  });
  permute(n, random, to);
}

}  // namespace ltr::plan
