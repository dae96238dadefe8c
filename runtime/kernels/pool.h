#pragma once

// Largest elements and means of windows of planes.

#include <cstdint>

namespace ltr::kernels {

/// Places [begin, end) of an axis.
struct Range {
  int64_t begin = 0, end = 0;
};

/// Where windows lie on planes of [height, width]; a result is there for each pair of a range of rows and one of columns.
/// What is padded lies outside.
struct Windows {
  int64_t height = 0, width = 0;
  const Range* rows = nullptr;
  int64_t row_count = 0;
  const Range* columns = nullptr;
  int64_t column_count = 0;
  float area = 0;          ///< that sums are divided by; 0: the elements of the window
  bool are_pairs = false;  ///< ranges are 2 places, one behind the other, on both axes
};

/// What a plane gets does not hang on the planes beside it. `line` is memory for the width of a plane.
struct PoolKernel {
  /// NaN where a window has one.
  void (*max)(const Windows&, const float* x, int64_t planes, float* y, float* line);
  /// To the first of equal ones by rows, to the last NaN where there is one, as LibTorch's.
  void (*max_slope)(const Windows&, const float* x, const float* by_y, int64_t planes, float* by_x);
  void (*mean)(const Windows&, const float* x, int64_t planes, float* y, float* line);
  void (*mean_slope)(const Windows&, const float* by_y, int64_t planes, float* by_x, float* line);
};

const PoolKernel& pool_kernel();

}  // namespace ltr::kernels
