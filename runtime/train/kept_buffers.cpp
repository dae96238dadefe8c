#include "runtime/train/kept_buffers.h"

#include <ATen/ops/where.h>

#include "runtime/tensor/handle.h"
#include "runtime/tensor/mode.h"

namespace ltr {

KeptBuffers::KeptBuffers(const RootState& root) {
  for (const Entry& entry : root.buffers) {
    const In buffer(entry.tensor);
    buffers_.emplace_back(*buffer, buffer->clone());
  }
}

void KeptBuffers::restore() const {
  const NoGrad no_grad;
  for (const auto& [buffer, before] : buffers_) buffer.copy_(before);
}

void KeptBuffers::restore_where(const at::Tensor& is_so) const {
  const NoGrad no_grad;
  for (const auto& [buffer, before] : buffers_) buffer.copy_(at::where(is_so, before, buffer));
}

}  // namespace ltr
