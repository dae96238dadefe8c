#pragma once

// Rules that move every element by itself, in f32, with one pass over memory. Weights, gradients and states are changed
// in place; the formulas are those of PyTorch's loops for one tensor, and of runtime.md 6.1.

#include <cstdint>

namespace ltr::optim {

/// What comes first: g = sign · gradient + l2 · weight, weight = shrink · weight.
struct Decay {
  float sign = 1;    ///< -1 to maximize
  float l2 = 0;      ///< weight decay as a part of the gradient
  float shrink = 1;  ///< 1 - lr · weight decay, where it is decoupled
};

struct AdamNumbers {
  float beta1, beta2;
  float step_size;  ///< lr / (1 - β1^t)
  float root;       ///< 1 / sqrt(1 - β2^t)
  float eps;
};
void adam_update(float* weight, const float* grad, float* mean, float* square, int64_t count, Decay, AdamNumbers);

struct NadamNumbers {
  float beta1, beta2;
  float by_grad;  ///< lr (1 - µ_t) / (1 - Π µ)
  float by_mean;  ///< lr µ_t+1 / (1 - µ_t+1 Π µ)
  float root;     ///< 1 / sqrt(1 - β2^t)
  float eps;
};
void nadam_update(float* weight, const float* grad, float* mean, float* square, int64_t count, Decay, NadamNumbers);

struct RadamNumbers {
  float beta1, beta2;
  float plain;     ///< rate of the mean while the variance is not known: lr / (1 - β1^t), else 0
  float adaptive;  ///< rate of mean / (√square + eps) afterwards, else 0
  float eps;
};
void radam_update(float* weight, const float* grad, float* mean, float* square, int64_t count, Decay, RadamNumbers);

struct AdamaxNumbers {
  float beta1, beta2;
  float step_size;  ///< lr / (1 - β1^t)
  float eps;
};
void adamax_update(float* weight, const float* grad, float* mean, float* most, int64_t count, Decay, AdamaxNumbers);

void sgd_update(float* weight, const float* grad, int64_t count, Decay, float lr);

struct MomentumNumbers {
  float lr;
  float kept;   ///< of the buffer
  float taken;  ///< of the gradient: 1 - dampening
  bool nesterov;
};
void momentum_update(float* weight, const float* grad, float* buffer, int64_t count, Decay, MomentumNumbers);

struct RmspropNumbers {
  float lr;
  float alpha;
  float eps;
  float momentum;
};
/// `buffer` is null without momentum, `mean` where it is not centered.
void rmsprop_update(float* weight, const float* grad, float* square, float* buffer, float* mean, int64_t count, Decay,
                    RmspropNumbers);

struct AdadeltaNumbers {
  float lr;
  float rho;
  float eps;
};
void adadelta_update(float* weight, const float* grad, float* square, float* moved, int64_t count, Decay,
                     AdadeltaNumbers);

void adagrad_update(float* weight, const float* grad, float* sum, int64_t count, Decay, float rate, float eps);

struct RpropNumbers {
  float shrink, grow;
  float least, most;
};
void rprop_update(float* weight, const float* grad, float* before, float* size, int64_t count, Decay, RpropNumbers);

struct LionNumbers {
  float lr;
  float beta1, beta2;
};
void lion_update(float* weight, const float* grad, float* mean, int64_t count, Decay, LionNumbers);

}  // namespace ltr::optim
