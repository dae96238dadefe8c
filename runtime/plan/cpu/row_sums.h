#pragma once

// A gradient of a table of which few rows were read: sums for these rows alone, in the memory of one root.

#include <cstdint>

namespace ltr::plan {

struct RowSums {
  int64_t most = 0;   ///< rows that there may be
  int64_t width = 0;  ///< of a row
  float* values(char* memory) const { return reinterpret_cast<float*>(memory); }
  /// Which rows these are, in the order in which they came first; and how many.
  int64_t* rows(char* memory) const { return reinterpret_cast<int64_t*>(values(memory) + (most * width + 1) / 2 * 2); }
  int64_t& count(char* memory) const { return rows(memory)[most]; }
  /// Floats that all of it takes.
  int64_t elements() const { return (most * width + 1) / 2 * 2 + 2 * (most + 1); }
};

}  // namespace ltr::plan
