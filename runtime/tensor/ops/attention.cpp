#include <ATen/ATen.h>

#include <cmath>
#include <limits>

#include "ltr/ops.h"
#include "runtime/tensor/attention.h"
#include "runtime/tensor/device.h"
#include "runtime/tensor/handle.h"
#include "runtime/tensor/mode.h"
#include "runtime/tensor/precision.h"

namespace ltr {

at::Tensor attention_scores(const at::Tensor& q, const at::Tensor& k, const at::Tensor& mask, bool causal,
                            double scale) {
  constexpr double kNever = -std::numeric_limits<double>::infinity();
  at::Tensor scores = wide(at::matmul(q, k.transpose(-2, -1))) * scale;
  if (causal) {
    const at::Tensor sees = at::ones({q.size(-2), k.size(-2)}, q.options().dtype(at::kBool)).tril();
    scores = scores.masked_fill(at::logical_not(sees), kNever);
  }
  if (!mask.defined()) return scores;
  return mask.scalar_type() == at::kBool ? scores.masked_fill(at::logical_not(mask), kNever) : scores + mask;
}

namespace {

/// The definition, written out. Only for dropout, which must draw from our generator. A row that sees nothing gives 0, as there.
at::Tensor attention_with_dropout(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v, const at::Tensor& mask,
                                  bool causal, double p, double scale) {
  const at::Tensor scores = attention_scores(q, k, mask, causal, scale);
  const Tensor probs = dropout(give(at::_safe_softmax(scores, -1)), p);
  return at::matmul(In(probs)->to(v.scalar_type()), v);
}

}  // namespace

Tensor attention(const Tensor& q_, const Tensor& k_, const Tensor& v_, const Tensor& mask, bool causal, double p,
                 Option<double> scale) {
  return guarded([&] {
    const at::Tensor q = narrow(In(q_));
    at::Tensor k = narrow(In(k_));
    at::Tensor v = narrow(In(v_));
    const bool is_grouped = q.size(1) != k.size(1);
    if (is_training() && p > 0) {
      if (is_grouped) {
        k = k.repeat_interleave(q.size(1) / k.size(1), 1);
        v = v.repeat_interleave(q.size(1) / v.size(1), 1);
      }
      return give(
          attention_with_dropout(q, k, v, aten(mask), causal, p, scale.value_or(1 / std::sqrt(double(q.size(-1))))));
    }
    if (causal && mask.defined()) {
      const at::Tensor sees = at::ones({q.size(-2), k.size(-2)}, q.options().dtype(at::kBool)).tril();
      const In given(mask);
      const at::Tensor both = given->scalar_type() == at::kBool
                                  ? at::logical_and(given, sees)
                                  : given->masked_fill(at::logical_not(sees), -std::numeric_limits<double>::infinity());
      return give(at::scaled_dot_product_attention(q, k, v, both, 0.0, false, scale, is_grouped));
    }
    return give(at::scaled_dot_product_attention(q, k, v, optional_aten(mask), 0.0, causal, scale, is_grouped));
  });
}

Tensor rope(const Tensor& x, double base, int64_t offset) {
  return guarded([&] {
    const In input(x);
    const int64_t size = input->size(-1);
    const int64_t half = size / 2;
    const at::TensorOptions wide = input->options().dtype(at::kDouble);
    const at::Tensor rates = at::pow(base, at::arange(half, wide) * (-2.0 / double(size)));
    const at::Tensor places = at::arange(offset, offset + input->size(-2), wide);
    const at::Tensor angles = at::outer(places, rates);
    const at::Tensor cos = at::cos(angles).to(input->scalar_type());
    const at::Tensor sin = at::sin(angles).to(input->scalar_type());
    const at::Tensor first = input->narrow(-1, 0, half);
    const at::Tensor second = input->narrow(-1, half, half);
    return give(at::cat({first * cos - second * sin, second * cos + first * sin}, -1));
  });
}

Tensor alibi(int64_t heads, int64_t size) {
  return guarded([&] {
    const at::TensorOptions wide = at::TensorOptions(at::kDouble).device(run_device());
    const at::Tensor slopes = at::pow(2.0, (at::arange(heads, wide) + 1) * (-8.0 / double(heads)));
    const at::Tensor places = at::arange(size, wide);
    const at::Tensor distance = at::abs(places.unsqueeze(0) - places.unsqueeze(1));
    return give((-slopes.reshape({heads, 1, 1}) * distance).to(policy_type()));
  });
}

}  // namespace ltr
