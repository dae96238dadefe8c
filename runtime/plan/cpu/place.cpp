#include "runtime/plan/cpu/place.h"

#include <algorithm>
#include <numeric>

namespace ltr::plan {

// Large ones first, each at the lowest place that is free in its time.
Placement place(const std::vector<Lifetime>& lifetimes) {
  constexpr int64_t kLine = 64;
  Placement placement{std::vector<int64_t>(lifetimes.size(), 0), 0};
  std::vector<size_t> order(lifetimes.size());
  std::iota(order.begin(), order.end(), size_t(0));
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return lifetimes[a].bytes > lifetimes[b].bytes; });
  std::vector<size_t> placed;  // by offset
  for (const size_t at : order) {
    const Lifetime& one = lifetimes[at];
    const int64_t bytes = (one.bytes + kLine - 1) / kLine * kLine;
    int64_t offset = 0;
    for (const size_t other : placed) {
      const Lifetime& taken = lifetimes[other];
      if (taken.last < one.first || one.last < taken.first) continue;
      if (placement.offsets[other] >= offset + bytes) break;
      offset = std::max(offset, placement.offsets[other] + (taken.bytes + kLine - 1) / kLine * kLine);
    }
    placement.offsets[at] = offset;
    placement.bytes = std::max(placement.bytes, offset + bytes);
    placed.insert(std::upper_bound(placed.begin(), placed.end(), offset,
                                   [&](int64_t value, size_t other) { return value < placement.offsets[other]; }),
                  at);
  }
  return placement;
}

}  // namespace ltr::plan
