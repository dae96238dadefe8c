#include "runtime/plan/cpu/draws.h"

#include <cmath>

#include "runtime/kernels/pointwise.h"
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

}  // namespace ltr::plan
