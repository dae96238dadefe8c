#include "runtime/optim/element_kernels.h"

#include "runtime/tensor/vector_clones.h"

// GCC makes vectors of these loops; pointers of one update never overlap. LibTorch's own fused kernels start all threads
// for every weight, however small: 4 to 30 us each.

namespace ltr::optim {

namespace {

__attribute__((always_inline)) inline float decayed(float grad, float weight, const Decay& by) {
  return by.sign * grad + by.l2 * weight;
}

__attribute__((always_inline)) inline float sign_of(float x) {
  return float(x > 0) - float(x < 0);
}

template <bool centered, bool has_momentum>
__attribute__((always_inline)) inline void rmsprop(float* __restrict weight, const float* __restrict grad,
                                                   float* __restrict square, float* __restrict buffer,
                                                   float* __restrict mean, int64_t count, const Decay& decay,
                                                   const RmspropNumbers& n) {
  for (int64_t i = 0; i < count; i++) {
    const float g = decayed(grad[i], weight[i], decay);
    float v = square[i] = n.alpha * square[i] + (1 - n.alpha) * g * g;
    if constexpr (centered) {
      const float m = mean[i] = mean[i] + (g - mean[i]) * (1 - n.alpha);
      v -= m * m;
    }
    float step = g / (__builtin_sqrtf(v) + n.eps);
    if constexpr (has_momentum) step = buffer[i] = n.momentum * buffer[i] + step;
    weight[i] -= n.lr * step;
  }
}

}  // namespace

LTR_VECTOR_CLONES
void adam_update(float* __restrict weight, const float* __restrict grad, float* __restrict mean,
                 float* __restrict square, int64_t count, Decay decay, AdamNumbers n) {
  for (int64_t i = 0; i < count; i++) {
    const float g = decayed(grad[i], weight[i], decay);
    const float m = mean[i] + (g - mean[i]) * (1 - n.beta1);
    const float v = n.beta2 * square[i] + (1 - n.beta2) * g * g;
    mean[i] = m;
    square[i] = v;
    weight[i] = decay.shrink * weight[i] - n.step_size * m / (__builtin_sqrtf(v) * n.root + n.eps);
  }
}

LTR_VECTOR_CLONES
void nadam_update(float* __restrict weight, const float* __restrict grad, float* __restrict mean,
                  float* __restrict square, int64_t count, Decay decay, NadamNumbers n) {
  for (int64_t i = 0; i < count; i++) {
    const float g = decayed(grad[i], weight[i], decay);
    const float m = mean[i] = mean[i] + (g - mean[i]) * (1 - n.beta1);
    const float v = square[i] = n.beta2 * square[i] + (1 - n.beta2) * g * g;
    weight[i] = decay.shrink * weight[i] - (n.by_grad * g + n.by_mean * m) / (__builtin_sqrtf(v) * n.root + n.eps);
  }
}

LTR_VECTOR_CLONES
void radam_update(float* __restrict weight, const float* __restrict grad, float* __restrict mean,
                  float* __restrict square, int64_t count, Decay decay, RadamNumbers n) {
  for (int64_t i = 0; i < count; i++) {
    const float g = decayed(grad[i], weight[i], decay);
    const float m = mean[i] = mean[i] + (g - mean[i]) * (1 - n.beta1);
    const float v = square[i] = n.beta2 * square[i] + (1 - n.beta2) * g * g;
    weight[i] = decay.shrink * weight[i] - m * (n.plain + n.adaptive / (__builtin_sqrtf(v) + n.eps));
  }
}

LTR_VECTOR_CLONES
void adamax_update(float* __restrict weight, const float* __restrict grad, float* __restrict mean,
                   float* __restrict most, int64_t count, Decay decay, AdamaxNumbers n) {
  for (int64_t i = 0; i < count; i++) {
    const float g = decayed(grad[i], weight[i], decay);
    const float m = mean[i] = mean[i] + (g - mean[i]) * (1 - n.beta1);
    const float kept = n.beta2 * most[i], fresh = __builtin_fabsf(g) + n.eps;
    const float top = most[i] = kept > fresh ? kept : fresh;
    weight[i] = decay.shrink * weight[i] - n.step_size * m / top;
  }
}

LTR_VECTOR_CLONES
void sgd_update(float* __restrict weight, const float* __restrict grad, int64_t count, Decay decay, float lr) {
  for (int64_t i = 0; i < count; i++) weight[i] -= lr * decayed(grad[i], weight[i], decay);
}

LTR_VECTOR_CLONES
void momentum_update(float* __restrict weight, const float* __restrict grad, float* __restrict buffer, int64_t count,
                     Decay decay, MomentumNumbers n) {
  const float by_grad = n.nesterov ? 1 : 0, by_buffer = n.nesterov ? n.kept : 1;
  for (int64_t i = 0; i < count; i++) {
    const float g = decayed(grad[i], weight[i], decay);
    const float b = buffer[i] = n.kept * buffer[i] + n.taken * g;
    weight[i] -= n.lr * (by_grad * g + by_buffer * b);
  }
}

LTR_VECTOR_CLONES
void rmsprop_update(float* weight, const float* grad, float* square, float* buffer, float* mean, int64_t count,
                    Decay decay, RmspropNumbers n) {
  if (mean != nullptr && buffer != nullptr)
    return rmsprop<true, true>(weight, grad, square, buffer, mean, count, decay, n);
  if (mean != nullptr) return rmsprop<true, false>(weight, grad, square, buffer, mean, count, decay, n);
  if (buffer != nullptr) return rmsprop<false, true>(weight, grad, square, buffer, mean, count, decay, n);
  rmsprop<false, false>(weight, grad, square, buffer, mean, count, decay, n);
}

LTR_VECTOR_CLONES
void adadelta_update(float* __restrict weight, const float* __restrict grad, float* __restrict square,
                     float* __restrict moved, int64_t count, Decay decay, AdadeltaNumbers n) {
  for (int64_t i = 0; i < count; i++) {
    const float g = decayed(grad[i], weight[i], decay);
    const float v = square[i] = n.rho * square[i] + (1 - n.rho) * g * g;
    const float delta = __builtin_sqrtf(moved[i] + n.eps) / __builtin_sqrtf(v + n.eps) * g;
    moved[i] = n.rho * moved[i] + (1 - n.rho) * delta * delta;
    weight[i] -= n.lr * delta;
  }
}

LTR_VECTOR_CLONES
void adagrad_update(float* __restrict weight, const float* __restrict grad, float* __restrict sum, int64_t count,
                    Decay decay, float rate, float eps) {
  for (int64_t i = 0; i < count; i++) {
    const float g = decayed(grad[i], weight[i], decay);
    const float s = sum[i] = sum[i] + g * g;
    weight[i] -= rate * g / (__builtin_sqrtf(s) + eps);
  }
}

LTR_VECTOR_CLONES
void rprop_update(float* __restrict weight, const float* __restrict grad, float* __restrict before,
                  float* __restrict size, int64_t count, Decay decay, RpropNumbers n) {
  for (int64_t i = 0; i < count; i++) {
    const float g = decay.sign * grad[i];
    const float agreement = g * before[i];
    float s = size[i] * (agreement > 0 ? n.grow : agreement < 0 ? n.shrink : 1.0F);
    s = s < n.least ? n.least : s;
    s = s > n.most ? n.most : s;
    const float counted = agreement < 0 ? 0.0F : g;  // where the sign turned, this gradient does not count
    weight[i] -= sign_of(counted) * s;
    size[i] = s;
    before[i] = counted;
  }
}

LTR_VECTOR_CLONES
void lion_update(float* __restrict weight, const float* __restrict grad, float* __restrict mean, int64_t count,
                 Decay decay, LionNumbers n) {
  for (int64_t i = 0; i < count; i++) {
    const float g = grad[i], m = mean[i];
    weight[i] = decay.shrink * weight[i] - n.lr * sign_of(m + (g - m) * (1 - n.beta1));
    mean[i] = m + (g - m) * (1 - n.beta2);
  }
}

}  // namespace ltr::optim
