#pragma once

// What tests count of work that is to be quiet: memory of the heap, locks, and ops that LibTorch dispatches.

#include <c10/util/FunctionRef.h>

#include <atomic>
#include <cstdint>

namespace ltr::plan::quiet {

/// Of all threads, while somebody counts.
struct Counts {
  std::atomic<bool> are_on = false;
  std::atomic<int64_t> allocations = 0, locks = 0, ops = 0;

  /// Counts anew while `work` runs.
  void during(c10::function_ref<void()> work);
};
extern Counts counts;

}  // namespace ltr::plan::quiet
