#include <ATen/ATen.h>

#include "ltr/ops.h"
#include "runtime/tensor/fused.h"
#include "runtime/tensor/handle.h"
#include "runtime/tensor/precision.h"

namespace ltr {

namespace {

/// What a product takes: the tensor itself, borrowed, unless the precision narrows it.
class Narrow {
 public:
  explicit Narrow(const Tensor& tensor) : borrowed_(tensor) {
    if (precision().narrows && tensor.defined()) cast_ = cast_narrow(borrowed_);
  }
  operator const at::Tensor&() const { return cast_.defined() ? cast_ : *borrowed_; }  // NOLINT
  const at::Tensor& operator*() const { return *this; }
  const at::Tensor* operator->() const { return &static_cast<const at::Tensor&>(*this); }
  std::optional<at::Tensor> optional() const {
    const at::Tensor& value = *this;
    return value.defined() ? std::optional<at::Tensor>(value) : std::nullopt;
  }

 private:
  In borrowed_;
  at::Tensor cast_;
};

}  // namespace

Tensor matmul(const Tensor& a, const Tensor& b) {
  return guarded([&] { return give(at::matmul(Narrow(a), Narrow(b))); });
}

Tensor bmm(const Tensor& a, const Tensor& b) {
  return guarded([&] { return give(at::bmm(Narrow(a), Narrow(b))); });
}

Tensor einsum(const Str& pattern, const Tensors& tensors) {
  return guarded([&] {
    std::vector<at::Tensor> factors;
    for (const Tensor& tensor : tensors) factors.push_back(*Narrow(tensor));
    return give(at::einsum(pattern, factors));
  });
}

Tensor linear(const Tensor& x, const Tensor& weight, const Tensor& bias) {
  return guarded([&] { return give(linear_node(Narrow(x), Narrow(weight), Narrow(bias))); });
}

Tensor bilinear(const Tensor& left, const Tensor& right, const Tensor& weight, const Tensor& bias) {
  return guarded([&] { return give(at::bilinear(In(left), In(right), In(weight), optional_aten(bias))); });
}

Tensor embedding(const Tensor& index, const Tensor& weight) {
  return guarded([&] { return give(at::embedding(In(weight), In(index))); });
}

Tensor conv1d(const Tensor& x, const Tensor& weight, const Tensor& bias, int64_t stride, int64_t padding,
              int64_t dilation, int64_t groups) {
  return guarded([&] {
    return give(at::conv1d(Narrow(x), Narrow(weight), Narrow(bias).optional(), stride, padding, dilation, groups));
  });
}

Tensor conv2d(const Tensor& x, const Tensor& weight, const Tensor& bias, int64_t stride, int64_t padding,
              int64_t dilation, int64_t groups) {
  return guarded([&] {
    return give(at::conv2d(Narrow(x), Narrow(weight), Narrow(bias).optional(), stride, padding, dilation, groups));
  });
}

Tensor conv3d(const Tensor& x, const Tensor& weight, const Tensor& bias, int64_t stride, int64_t padding,
              int64_t dilation, int64_t groups) {
  return guarded([&] {
    return give(at::conv3d(Narrow(x), Narrow(weight), Narrow(bias).optional(), stride, padding, dilation, groups));
  });
}

Tensor conv_transpose1d(const Tensor& x, const Tensor& weight, const Tensor& bias, int64_t stride, int64_t padding,
                        int64_t output_padding) {
  return guarded([&] {
    return give(at::conv_transpose1d(Narrow(x), Narrow(weight), Narrow(bias).optional(), stride, padding, output_padding));
  });
}

Tensor conv_transpose2d(const Tensor& x, const Tensor& weight, const Tensor& bias, int64_t stride, int64_t padding,
                        int64_t output_padding) {
  return guarded([&] {
    return give(at::conv_transpose2d(Narrow(x), Narrow(weight), Narrow(bias).optional(), stride, padding, output_padding));
  });
}

Tensor pixel_shuffle(const Tensor& x, int64_t factor) {
  return guarded([&] { return give(at::pixel_shuffle(In(x), factor)); });
}

// ---- recurrent -----------------------------------------------------------------------------------------------

namespace {

/// The weights of one layer, without the biases that are `none`.
std::vector<at::Tensor> layer_weights(const Tensor& ih, const Tensor& hh, const Tensor& bias_ih, const Tensor& bias_hh) {
  std::vector<at::Tensor> list{*Narrow(ih), *Narrow(hh)};
  if (bias_ih.defined()) list.push_back(*Narrow(bias_ih));
  if (bias_hh.defined()) list.push_back(*Narrow(bias_hh));
  return list;
}

at::Tensor start_state(const at::Tensor& x, const Tensor& hh) {
  return at::zeros({1, x.size(0), In(hh)->size(1)}, x.options());
}

}  // namespace

std::tuple<Tensor, Tensor, Tensor> lstm(const Tensor& x, const Tensor& weight_ih, const Tensor& weight_hh,
                                        const Tensor& bias_ih, const Tensor& bias_hh) {
  return guarded([&] {
    const Narrow input(x);
    const at::Tensor start = start_state(*input, weight_hh);
    auto [y, h, c] = at::lstm(*input, {start, start}, layer_weights(weight_ih, weight_hh, bias_ih, bias_hh),
                              bias_ih.defined(), 1, 0.0, false, false, true);
    return std::tuple(give(y), give(h.squeeze(0)), give(c.squeeze(0)));
  });
}

std::tuple<Tensor, Tensor> gru(const Tensor& x, const Tensor& weight_ih, const Tensor& weight_hh, const Tensor& bias_ih,
                               const Tensor& bias_hh) {
  return guarded([&] {
    const Narrow input(x);
    auto [y, h] = at::gru(*input, start_state(*input, weight_hh), layer_weights(weight_ih, weight_hh, bias_ih, bias_hh),
                          bias_ih.defined(), 1, 0.0, false, false, true);
    return std::tuple(give(y), give(h.squeeze(0)));
  });
}

std::tuple<Tensor, Tensor> rnn(const Tensor& x, const Tensor& weight_ih, const Tensor& weight_hh, const Tensor& bias_ih,
                               const Tensor& bias_hh) {
  return guarded([&] {
    const Narrow input(x);
    auto [y, h] = at::rnn_tanh(*input, start_state(*input, weight_hh),
                               layer_weights(weight_ih, weight_hh, bias_ih, bias_hh), bias_ih.defined(), 1, 0.0, false,
                               false, true);
    return std::tuple(give(y), give(h.squeeze(0)));
  });
}

}  // namespace ltr
