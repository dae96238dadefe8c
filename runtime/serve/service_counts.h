#pragma once

// What a service did, as Prometheus reads it.

#include <array>
#include <map>
#include <mutex>

#include "ltr/api.h"

namespace ltr::serve {

class ServiceCounts {
 public:
  /// A request for predictions was answered with `status`, `seconds` after it came.
  void answered(int status, double seconds);
  /// A batch of `rows` took `seconds`.
  void computed(size_t rows, double seconds);
  /// The text format 0.0.4. `waiting`: requests in the queue.
  Str text(size_t waiting) const;

 private:
  static constexpr std::array<double, 10> kBounds = {0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1, 5};

  mutable std::mutex mutex_;
  std::map<int, int64_t> requests_;                    ///< by status
  std::array<int64_t, kBounds.size() + 1> buckets_{};  ///< the last one: beyond all bounds
  double request_s_ = 0;
  int64_t batches_ = 0;
  int64_t rows_ = 0;
  double batch_s_ = 0;
};

}  // namespace ltr::serve
