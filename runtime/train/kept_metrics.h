#pragma once

// What runs without counting.

#include <utility>
#include <vector>

#include "ltr/program.h"

namespace ltr {

/// What the metrics of a stream have seen when it is made is what they have seen when it is gone.
class KeptMetrics {
 public:
  KeptMetrics(Model& model, int64_t stream);
  ~KeptMetrics();
  KeptMetrics(const KeptMetrics&) = delete;
  KeptMetrics& operator=(const KeptMetrics&) = delete;

 private:
  std::vector<std::pair<Tensor*, Tensor>> before_;
};

}  // namespace ltr
