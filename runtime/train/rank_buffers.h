#pragma once

// Buffers that a step writes follow the first rank: what they hold of the batch of one rank would differ on each.

#include <ATen/core/Tensor.h>

#include <vector>

#include "runtime/train/ranks.h"

namespace ltr {

struct RootState;

class RankBuffers {
 public:
  /// `joint_norms`: batch norms keep the same numbers on all ranks by themselves.
  RankBuffers(const RootState& root, const Ranks& ranks, bool joint_norms);

  /// A window is over: those that were written since the last one, on any rank, become the first rank's.
  void share();

 private:
  struct Buffer {
    at::Tensor tensor;
    int64_t version;  ///< of the tensor, when all ranks had the same
  };
  const Ranks& ranks_;
  std::vector<Buffer> buffers_;
};

}  // namespace ltr
