#pragma once

// Functions of rows: soft-max, losses over classes, layer norm, sums.

#include <cstdint>

namespace ltr::kernels {

/// Rows of `width` floats side by side. What a row gets does not hang on the rows beside it.
struct RowKernel {
  /// out = softmax(x), or its logarithm. In f32; rows are [rows, width].
  void (*softmax)(const float* x, int64_t rows, int64_t width, float* out);
  void (*log_softmax)(const float* x, int64_t rows, int64_t width, float* out);
  /// by_x = y (by_y - Σ y by_y), of y = softmax(x).
  void (*softmax_slope)(const float* y, const float* by_y, int64_t rows, int64_t width, float* by_x);
  /// out[r] = log Σ exp x[r] - x[r][target[r]]; false if a target is no class.
  bool (*cross_entropy)(const float* x, const int64_t* target, int64_t rows, int64_t width, float* out);
  /// by_x[r] = (softmax(x[r]) - 1 at target[r]) · scale.
  void (*cross_entropy_slope)(const float* x, const int64_t* target, int64_t rows, int64_t width, float scale,
                              float* by_x);
  /// y = (x - mean) rstd weight + bias, of each row; weight and bias may be null. Ba, Kiros and Hinton 2016.
  void (*layer_norm)(const float* x, const float* weight, const float* bias, double eps, int64_t rows, int64_t width,
                     float* y);
  /// The gradient by x; adds those by weight and bias, of these rows, to what is there, where they are not null.
  void (*layer_norm_slope)(const float* x, const float* weight, const float* by_y, double eps, int64_t rows,
                           int64_t width, float* by_x, float* by_weight, float* by_bias);
  /// out[c] = Σ over rows of x[r · stride + c].
  void (*sum_columns)(const float* x, int64_t stride, int64_t rows, int64_t columns, float* out);
  /// Σ of `n` elements.
  float (*sum)(const float* x, int64_t n);
};

const RowKernel& row_kernel();

}  // namespace ltr::kernels
