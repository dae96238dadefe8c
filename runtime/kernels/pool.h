#pragma once

// Largest elements and means of windows of planes.

#include <algorithm>
#include <cstdint>

namespace ltr::kernels {

/// Places [begin, end) of an axis, and how many count in a mean of them: those of a border may, too.
struct Range {
  int64_t begin = 0, end = 0, counted = 0;
};

/// Where windows lie on planes of [height, width]; a result is there for each pair of a range of rows and one of columns.
/// What is padded lies outside.
struct Windows {
  int64_t height = 0, width = 0;
  const Range* rows = nullptr;
  int64_t row_count = 0;
  const Range* columns = nullptr;
  int64_t column_count = 0;
  bool are_pairs = false;  ///< ranges are 2 places, one behind the other, on both axes
  /// Where ranges of columns are so many places every 1 or 2, the first of them `front` before the plane; else 0.
  int64_t reach = 0, every = 0, front = 0;

  /// Elements of every phase of a line with its borders: columns of even and of odd number, or all.
  int64_t pitch() const {
    return every == 0 ? 0 : front + reach + std::max(column_count, (width + 1) / every) + kMostLanes;
  }
  /// Floats that the functions want beside: for a line, for a line and a plane in phases, and what each column of windows gives.
  int64_t scratch() const { return width + pitch() * (every * (1 + height) + reach * height); }
  static constexpr int64_t kMostLanes = 16, kMostReach = 16;
};

/// What a plane gets does not hang on the planes beside it. `scratch` is memory for Windows::scratch() floats.
struct PoolKernel {
  /// NaN where a window has one.
  void (*max)(const Windows&, const float* x, int64_t planes, float* y, float* scratch);
  /// To the first of equal ones by rows, to the last NaN where there is one, as LibTorch's.
  void (*max_slope)(const Windows&, const float* x, const float* by_y, int64_t planes, float* by_x, float* scratch);
  void (*mean)(const Windows&, const float* x, int64_t planes, float* y, float* scratch);
  void (*mean_slope)(const Windows&, const float* by_y, int64_t planes, float* by_x, float* scratch);
};

const PoolKernel& pool_kernel();

}  // namespace ltr::kernels
