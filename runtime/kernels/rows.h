#pragma once

// Functions of rows: soft-max, layer norm, sums.

#include <cstdint>

namespace ltr::kernels {

/// Rows of `width` floats side by side. What a row gets does not hang on the rows beside it.
struct RowKernel {
  /// out = softmax(x), or its logarithm. In f32; rows are [rows, width].
  void (*softmax)(const float* x, int64_t rows, int64_t width, float* out);
  void (*log_softmax)(const float* x, int64_t rows, int64_t width, float* out);
  /// Likewise along the first axis of x [width, inner].
  void (*softmax_columns)(const float* x, int64_t width, int64_t inner, float* out);
  void (*log_softmax_columns)(const float* x, int64_t width, int64_t inner, float* out);
  /// out = softmax(x + added) of one row, over what it sees; 0 elsewhere, and where it sees nothing. `added` and `sees` may be null.
  void (*masked_softmax)(const float* x, const float* added, const bool* sees, int64_t width, float* out);
  /// by_x = y (by_y - Σ y by_y), of y = softmax(x).
  void (*softmax_slope)(const float* y, const float* by_y, int64_t rows, int64_t width, float* by_x);
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
