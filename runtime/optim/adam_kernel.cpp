#include "runtime/optim/adam_kernel.h"

#include "runtime/tensor/vector_clones.h"

namespace ltr::optim {

// LibTorch's fused kernel starts all threads for every weight, however small: 4 to 30 us each. This one is for groups
// that a single core does in less. The reference is the formula of PyTorch's `_single_tensor_adam`.
LTR_VECTOR_CLONES
void adam_update(float* __restrict weight, const float* __restrict grad, float* __restrict mean,
                 float* __restrict square, int64_t count, const AdamNumbers& by) {
  const AdamNumbers n = by;
  for (int64_t i = 0; i < count; i++) {
    const float g = n.sign * grad[i] + n.l2 * weight[i];
    const float m = mean[i] + (g - mean[i]) * (1 - n.beta1);
    const float v = n.beta2 * square[i] + (1 - n.beta2) * g * g;
    mean[i] = m;
    square[i] = v;
    weight[i] = n.shrink * weight[i] - n.step_size * m / (__builtin_sqrtf(v) * n.root + n.eps);
  }
}

}  // namespace ltr::optim
