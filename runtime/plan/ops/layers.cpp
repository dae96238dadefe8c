// Ops of graphs: gradients of convolutions, pools, norms and attention. What a function did not keep is computed again here.

#include <ATen/ATen.h>

#include <array>
#include <cmath>

#include "runtime/plan/ops.h"
#include "runtime/tensor/attention.h"
#include "runtime/tensor/handle.h"
#include "runtime/tensor/mode.h"
#include "runtime/tensor/padding.h"

namespace ltr::plan {

namespace {

using Three = std::tuple<Tensor, Tensor, Tensor>;

template <class Parts>
Three given(Parts parts) {
  return {give(std::move(std::get<0>(parts))), give(std::move(std::get<1>(parts))),
          give(std::move(std::get<2>(parts)))};
}

}  // namespace

std::tuple<Tensor, Tensor> conv_backward(const Tensor& gradient, const Tensor& x, const Tensor& weight,
                                         const Ints& stride, const Ints& padding, const Ints& dilation,
                                         bool is_transposed, const Ints& output_padding, int64_t groups) {
  return guarded([&] {
    const Padding around = padding_of(padding);
    auto [by_x, by_weight, by_bias] = at::convolution_backward(
        In(gradient), padded(In(x), around), In(weight), std::nullopt, stride, around.both, dilation, is_transposed,
        output_padding, groups, std::array<bool, 3>{true, true, false});
    return std::tuple(give(cropped(by_x, around)), give(by_weight));
  });
}

namespace {

/// Sizes of an image: a line is one with an axis of 1 in front.
Ints of_image(const Ints& sizes, int64_t front) { return sizes.size() == 1 ? Ints{front, sizes[0]} : sizes; }

}  // namespace

Tensor max_pool_backward(const Tensor& gradient, const Tensor& x, const Ints& kernel, const Ints& stride,
                         const Ints& padding, const Ints& dilation, bool ceil_mode) {
  return guarded([&] {
    const at::Tensor g = aten(gradient), of = aten(x);
    const bool is_line = of.dim() == 3;
    const at::Tensor image = is_line ? of.unsqueeze(2) : of, back = is_line ? g.unsqueeze(2) : g;
    const Ints size = of_image(kernel, 1), steps = of_image(stride, 1), border = of_image(padding, 0),
               gaps = of_image(dilation, 1);
    const auto [out, index] = at::max_pool2d_with_indices(image, size, steps, border, gaps, ceil_mode);
    const at::Tensor found =
        at::max_pool2d_with_indices_backward(back, image, size, steps, border, gaps, ceil_mode, index);
    return give(is_line ? found.squeeze(2) : found);
  });
}

Tensor avg_pool_backward(const Tensor& gradient, const Tensor& x, const Ints& kernel, const Ints& stride,
                         const Ints& padding, bool count_include_pad, bool ceil_mode) {
  return guarded([&] {
    const at::Tensor g = aten(gradient), of = aten(x);
    const bool is_line = of.dim() == 3;
    const at::Tensor found =
        at::avg_pool2d_backward(is_line ? g.unsqueeze(2) : g, is_line ? of.unsqueeze(2) : of, of_image(kernel, 1),
                                of_image(stride, 1), of_image(padding, 0), ceil_mode, count_include_pad, std::nullopt);
    return give(is_line ? found.squeeze(2) : found);
  });
}

Tensor adaptive_avg_pool_backward(const Tensor& gradient, const Tensor& x) {
  return guarded([&] {
    const at::Tensor g = aten(gradient), of = aten(x);
    const bool is_line = of.dim() == 3;
    const at::Tensor found =
        at::_adaptive_avg_pool2d_backward(is_line ? g.unsqueeze(2) : g, is_line ? of.unsqueeze(2) : of);
    return give(is_line ? found.squeeze(2) : found);
  });
}

Three layer_norm_backward(const Tensor& gradient, const Tensor& x, const Tensor& weight, double eps) {
  return guarded([&] {
    const In input(x);
    const Ints last{input->size(-1)};
    const auto [out, mean, rstd] = at::native_layer_norm(input, last, optional_aten(weight), {}, eps);
    return given(at::native_layer_norm_backward(In(gradient), input, last, mean, rstd, optional_aten(weight),
                                                at::zeros(last, input->options()), {true, weight.defined(), true}));
  });
}

Three group_norm_backward(const Tensor& gradient, const Tensor& x_, int64_t groups, const Tensor& weight, double eps) {
  return guarded([&] {
    const at::Tensor x = aten(x_).contiguous();
    const int64_t records = x.size(0), channels = x.size(1),
                  places = x.numel() / std::max<int64_t>(records * channels, 1);
    // Without a weight LibTorch has no gradient of a bias.
    const at::Tensor factor = weight.defined() ? aten(weight).contiguous() : at::ones({channels}, x.options());
    const auto [out, mean, rstd] = at::native_group_norm(x, factor, {}, records, channels, places, groups, eps);
    return given(at::native_group_norm_backward(aten(gradient).contiguous(), x, mean, rstd, factor, records, channels,
                                                places, groups, {true, weight.defined(), true}));
  });
}

Three batch_norm_backward(const Tensor& gradient, const Tensor& x, const Tensor& weight, const Tensor& mean,
                          const Tensor& var, double eps) {
  return guarded([&] {
    // In one order: runtime/tensor/ops/normalization.cpp.
    const at::Tensor input = aten(x).contiguous();
    at::Tensor saved_mean, saved_rstd;
    if (is_training()) {
      std::tie(std::ignore, saved_mean, saved_rstd) =
          at::native_batch_norm(input, optional_aten(weight), {}, {}, {}, true, 0, eps);
    }
    return given(at::native_batch_norm_backward(aten(gradient).contiguous(), input, optional_aten(weight),
                                                optional_aten(mean), optional_aten(var), saved_mean, saved_rstd,
                                                is_training(), eps, {true, weight.defined(), true}));
  });
}

std::tuple<Tensor, Tensor> fold_norm(const Tensor& weight, const Tensor& bias, const Tensor& scale, const Tensor& shift,
                                     const Tensor& mean, const Tensor& var, double eps, int64_t axis, int64_t groups) {
  return guarded([&] {
    const In w(weight);
    at::Tensor factor = at::rsqrt(aten(var) + eps);
    if (scale.defined()) factor = factor * aten(scale);
    at::Tensor term = (bias.defined() ? aten(bias) - aten(mean) : -aten(mean)) * factor;
    if (shift.defined()) term = term + aten(shift);
    // [groups, inputs of a group, outputs of it, …] where outputs are axis 1.
    const Ints parts = axis == 0 ? Ints{w->size(0), -1} : Ints{groups, w->size(0) / groups, w->size(1), -1};
    const Ints of_factor = axis == 0 ? Ints{w->size(0), 1} : Ints{groups, 1, w->size(1), 1};
    const at::Tensor folded = (w->reshape(parts) * factor.reshape(of_factor)).reshape(w->sizes());
    return std::tuple(give(folded), give(term));
  });
}

// A rotation the other way: with the halves of a row in turn, it is that of the function.
Tensor rope_backward(const Tensor& gradient, double base, int64_t offset) {
  return guarded([&] {
    const int64_t half = In(gradient)->size(-1) / 2;
    const at::Tensor turned = aten(rope(give(at::roll(In(gradient), half, -1)), base, offset));
    return give(at::roll(turned, half, -1));
  });
}

// p = softmax(q kᵀ scale + mask), y = d(p) v with d dropout: d(p)ᵀ g for v; with h = d(g vᵀ) the scores' is p (h - Σ p h).
std::tuple<Tensor, Tensor, Tensor, Tensor> attention_backward(const Tensor& gradient, const Tensor& q_,
                                                              const Tensor& k_, const Tensor& v_, const Tensor& mask_,
                                                              bool causal, double dropped, Option<double> given_scale,
                                                              bool of_mask) {
  return guarded([&] {
    const at::Tensor q = aten(q_), g = aten(gradient), mask = aten(mask_);
    at::Tensor k = aten(k_), v = aten(v_);
    const int64_t shared = q.size(1) / k.size(1);
    if (shared > 1) {
      k = k.repeat_interleave(shared, 1);
      v = v.repeat_interleave(shared, 1);
    }
    const double scale = given_scale.value_or(1 / std::sqrt(double(q.size(-1))));
    const at::Tensor scores = attention_scores(q, k, mask, causal, scale);
    // A row that sees nothing gives 0, and nothing flows through it.
    const at::Tensor probs = at::softmax(scores, -1).nan_to_num(0);
    at::Tensor kept;
    if (is_training() && dropped > 0) kept = aten(dropout(give(at::ones_like(probs)), dropped));
    const auto masked = [&](const at::Tensor& x) { return kept.defined() ? x * kept : x; };
    at::Tensor by_v = at::matmul(masked(probs).transpose(-2, -1), g);
    const at::Tensor flow = masked(at::matmul(g, v.transpose(-2, -1)));
    const at::Tensor by_sums = probs * (flow - (probs * flow).sum(-1, true)), by_scores = by_sums * scale;
    const at::Tensor by_q = at::matmul(by_scores, k);
    at::Tensor by_k = at::matmul(by_scores.transpose(-2, -1), q);
    if (shared > 1) {
      const auto joined = [&](const at::Tensor& x) {
        return x.reshape({x.size(0), x.size(1) / shared, shared, x.size(2), x.size(3)}).sum(2);
      };
      by_k = joined(by_k);
      by_v = joined(by_v);
    }
    return std::tuple(give(by_q), give(by_k), give(by_v), of_mask ? give(at::sum_to(by_sums, mask.sizes())) : Tensor());
  });
}

}  // namespace ltr::plan
