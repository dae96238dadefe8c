#pragma once

// Where values lie in the one memory that a plan has.

#include <cstdint>
#include <vector>

namespace ltr::plan {

/// What is needed from phase `first` to phase `last`, both included.
struct Lifetime {
  int64_t bytes = 0;
  size_t first = 0, last = 0;
};

struct Placement {
  std::vector<int64_t> offsets;  ///< of each lifetime
  int64_t bytes = 0;             ///< of all
};

/// Two that are needed at one time do not overlap; each begins at a line of the cache.
Placement place(const std::vector<Lifetime>& lifetimes);

}  // namespace ltr::plan
