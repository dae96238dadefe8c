#pragma once

// `bucket = auto`: how many bytes of gradients leave together is tried in the first windows.

#include <array>
#include <vector>

#include "runtime/train/ranks.h"
#include "runtime/train/root_state.h"

namespace ltr {

class BucketTrial {
 public:
  /// The size of the next window, in bytes.
  int64_t size() const { return size_; }
  bool is_over() const { return medians_.size() == kSizes.size(); }
  /// A window's backward pass and its sums took `seconds`. Exchanged at the end of the windows of each size. True if the next
  /// window has another size, which is the same on all ranks.
  bool took(double seconds, const Ranks& ranks);
  /// What was found, for people.
  Str found() const;

  static constexpr size_t kWindows = 10;  ///< of each size; the first one makes the buckets, and does not count
  static constexpr std::array<int64_t, 3> kSizes = {int64_t(8) << 20, int64_t(25) << 20, int64_t(64) << 20};

 private:
  int64_t size_ = kSizes.front();
  std::vector<double> seconds_;  ///< of the windows of this size
  std::vector<double> medians_;  ///< by size, of the rank that took longest
};

/// Where the gradients of each optimizer fit into a bucket of the smallest size, all sizes make the same buckets: `travel` has that
/// size then, and what is said of it is given. Nothing where there is something to try.
Option<Str> settle_buckets(const RootState& root, GradientTravel& travel);

}  // namespace ltr
