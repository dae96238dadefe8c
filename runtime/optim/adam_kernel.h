#pragma once

#include <cstdint>

namespace ltr::optim {

/// One update of Adam for `count` weights, in place.
struct AdamNumbers {
  float beta1;
  float beta2;
  float step_size;   ///< lr / (1 - β1^t)
  float root;        ///< 1 / sqrt(1 - β2^t)
  float eps;
  float shrink;      ///< 1 - lr · weight_decay for AdamW, else 1
  float l2;          ///< weight_decay of Adam, else 0
  float sign;        ///< -1 to maximize
};
void adam_update(float* weight, const float* grad, float* mean, float* square, int64_t count, const AdamNumbers& by);

}  // namespace ltr::optim
