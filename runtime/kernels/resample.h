#pragma once

// Axes of another size, whose places are weighted sums of those that were there: borders, enlarged images, and their gradients.

#include <cstdint>

namespace ltr::kernels {

struct Resampling {
  int64_t given = 0, size = 0;
  const int32_t* begin = nullptr;  ///< [size + 1]: terms of place i are [begin[i], begin[i + 1])
  const int32_t* from = nullptr;   ///< of each term: the place that was there
  const float* weight = nullptr;
  const int32_t* run = nullptr;  ///< [size]: how many places from i on are those that were there, in their order
  float empty = 0;               ///< what a place without terms holds
};

struct ResampleKernel {
  /// x [outer, given, inner] becomes out [outer, size, inner].
  void (*resample)(const Resampling& of, const float* x, int64_t outer, int64_t inner, float* out);
};

const ResampleKernel& resample_kernel();

}  // namespace ltr::kernels
