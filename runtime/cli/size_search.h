#pragma once

// The largest size that fits, where only trying tells.

#include <cstdint>
#include <functional>

namespace ltr::cli {

/// Sizes between 1 and `most`, of which not all may be allowed.
struct SizeSearch {
  int64_t first = 1;  ///< to begin with
  int64_t most = 1;
  std::function<int64_t(int64_t size)>
      allowed;                             ///< the largest allowed one that is not above `size`; 0 if there is none
  std::function<bool(int64_t size)> fits;  ///< tries it
};

struct LargestSize {
  int64_t size = 0;         ///< 0: not even the smallest fits
  bool is_limited = false;  ///< a larger one was tried, and did not fit
};

/// Doubles from `first` until one does not fit, or halves until one does; then halves what lies between, to a thirty-second of
/// the size.
LargestSize find_largest(const SizeSearch& search);

}  // namespace ltr::cli
