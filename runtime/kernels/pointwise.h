#pragma once

// Programs over elements: each step computes a run of elements from runs of elements, so that a chain of functions takes one
// pass over memory.

#include <cstdint>

namespace ltr::kernels {

enum class Point : uint8_t {
#define LTR_POINT(name, value) name,
#define LTR_POINT_EACH(name, value) name,
#include "runtime/kernels/pointwise.def"
};

/// out[i] = op(a[i], b[i], c[i]); numbers of operands, those that an op does not take are 0.
struct PointStep {
  Point op;
  uint16_t out, a, b, c;
};

/// The functions for one instruction set.
struct PointKernel {
  /// Runs `count` steps over `n` elements; operand i is the run that begins at `operands[i]`.
  void (*run)(const PointStep* steps, int64_t count, float* const* operands, int64_t n);
  void (*fill)(float* to, float value, int64_t n);
  /// Bytes that are 0 or not, as conditions and back.
  void (*from_bytes)(const uint8_t* from, float* to, int64_t n);
  void (*to_bytes)(const float* from, uint8_t* to, int64_t n);
  void (*from_longs)(const int64_t* from, float* to, int64_t n);
  /// Elements that lie `stride` apart.
  void (*gather)(const float* from, int64_t stride, float* to, int64_t n);
  /// x[i] is kept, times `scale`, where words[i] < limit, else 0.
  void (*keep)(const float* x, const uint32_t* words, uint32_t limit, float scale, float* to, int64_t n);
};

const PointKernel& point_kernel();

}  // namespace ltr::kernels
