#pragma once

// The largest or the smallest of many, and where it is.

#include <cstdint>

namespace ltr::kernels {

enum class Extreme : uint8_t { Largest, Smallest };

struct ExtremeKernel {
  /// Of each column of x [rows, columns]: its extreme, and the row where it stands, which may be null. What is no number is
  /// more extreme than any; of equal ones the first is found.
  void (*find)(Extreme which, const float* x, int64_t rows, int64_t columns, float* value, int64_t* row);
};

const ExtremeKernel& extreme_kernel();

}  // namespace ltr::kernels
