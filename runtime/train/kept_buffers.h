#pragma once

// What the buffers of a model hold, to be put back: what a rehearsal, a look in front of training or a batch that is left out wrote.

#include <ATen/core/Tensor.h>

#include <utility>
#include <vector>

#include "runtime/train/root_state.h"

namespace ltr {

class KeptBuffers {
 public:
  explicit KeptBuffers(const RootState& root);
  void restore() const;
  /// Where `is_so`, a bool[] that the device knows and the host need not.
  void restore_where(const at::Tensor& is_so) const;

 private:
  std::vector<std::pair<at::Tensor, at::Tensor>> buffers_;  ///< and what they held
};

}  // namespace ltr
