#pragma once

// What norms of channels are made of: means and variances of planes and columns, and sums along them. In f32, two passes, the
// second over what is left of the mean; sums of many planes are doubles.

#include <cstdint>

namespace ltr::kernels {

/// Of `count` numbers: their mean, and the sum of the squares of what is left without it.
struct Moments {
  double count = 0, mean = 0, squares = 0;

  /// Likewise of both (Chan, Golub and LeVeque 1983).
  void join(const Moments& other) {
    if (other.count == 0) return;
    const double all = count + other.count, apart = other.mean - mean;
    mean += apart * (other.count / all);
    squares += other.squares + apart * apart * (count * other.count / all);
    count = all;
  }
};

/// Σ g and Σ g (x - mean).
struct Flow {
  double sum = 0, along = 0;
};

struct NormKernel {
  Moments (*moments)(const float* x, int64_t n);
  Flow (*flow)(const float* x, const float* g, float mean, int64_t n);
  /// Likewise of columns of [rows, columns], whose rows are `stride` apart.
  void (*column_moments)(const float* x, int64_t stride, int64_t rows, int64_t columns, Moments* out);
  void (*column_flow)(const float* x, const float* g, const float* mean, int64_t stride, int64_t rows, int64_t columns,
                      Flow* out);
  /// y = (x - mean) · factor + added.
  void (*scale)(const float* x, float mean, float factor, float added, int64_t n, float* y);
  /// by_x = g · by_g + (x - mean) · by_x + added.
  void (*slope)(const float* x, const float* g, float mean, float of_g, float of_x, float added, int64_t n,
                float* by_x);
  /// y = x / sqrt(mean of x² + eps) · weight, of each row; weight may be null. Zhang and Sennrich 2019.
  void (*rms_norm)(const float* x, const float* weight, double eps, int64_t rows, int64_t width, float* y);
};

const NormKernel& norm_kernel();

}  // namespace ltr::kernels
