#pragma once

#include "runtime/plan/recording.h"

namespace ltr::plan {

/// A weight that a gradient reads, as it was in front of a mark. An update, `ema_update` or a hook may move it behind that.
struct NeededWeight {
  size_t mark;
  const Tensor* weight;  ///< among what the recording keeps
  uint32_t version = 0;  ///< there, of the newest run
};
/// Those of the nodes from `begin` on, of which the one at `begin + i` differentiates the node `of[i]`, and of what is computed again for
/// them of the nodes in front of `end`. In the order of their marks.
std::vector<NeededWeight> needed_weights(const Recording& recording, size_t end, size_t begin,
                                         const std::vector<size_t>& of);

}  // namespace ltr::plan
