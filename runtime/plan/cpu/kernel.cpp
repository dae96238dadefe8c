#include "runtime/plan/cpu/kernel.h"

namespace ltr::plan {

bool has_samples_apart(const Layout& layout, int64_t elements, int64_t samples) {
  if (samples < 1 || layout.sizes.empty() || elements % samples != 0 || layout.sizes[0] % samples != 0) return false;
  if (layout.count() == 0) return false;
  const int64_t share = elements / samples, rows = layout.sizes[0] / samples;
  if (rows * layout.strides[0] != share) return false;
  int64_t last = layout.offset + (rows - 1) * layout.strides[0];
  for (size_t axis = 1; axis < layout.sizes.size(); ++axis) last += (layout.sizes[axis] - 1) * layout.strides[axis];
  return last < share;
}

}  // namespace ltr::plan
