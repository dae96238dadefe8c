#include <ATen/ATen.h>
#include <c10/core/GradMode.h>

#include "ltr/ops.h"
#include "runtime/tensor/handle.h"
#include "runtime/tensor/lstm_node.h"
#include "runtime/tensor/narrow.h"

namespace ltr {

namespace {

/// The weights of one layer, without the biases that are `none`.
std::vector<at::Tensor> layer_weights(const Tensor& ih, const Tensor& hh, const Tensor& bias_ih,
                                      const Tensor& bias_hh) {
  std::vector<at::Tensor> list{*Narrow(ih), *Narrow(hh)};
  if (bias_ih.defined()) list.push_back(*Narrow(bias_ih));
  if (bias_hh.defined()) list.push_back(*Narrow(bias_hh));
  return list;
}

/// A layer that reads backwards is one that reads the reversed sequence; outputs stand where their inputs stood.
at::Tensor turned(const at::Tensor& sequence, bool reverse) { return reverse ? at::flip(sequence, 1) : sequence; }

at::Tensor state_of(const Tensor& state) { return Narrow(state)->unsqueeze(0); }

/// Whether `x` is the input of a layer in training, of which alone cuDNN keeps what a backward pass needs.
bool is_trained(const Tensor& x) { return !In(x)->is_cpu() && c10::GradMode::is_enabled(); }

}  // namespace

std::tuple<Tensor, Tensor, Tensor> lstm(const Tensor& x, const Tensor& h, const Tensor& c, const Tensor& weight_ih,
                                        const Tensor& weight_hh, const Tensor& bias_ih, const Tensor& bias_hh,
                                        bool reverse) {
  return guarded([&] {
    if (auto found = lstm_node({.x = Narrow(x),
                                .h = Narrow(h),
                                .c = Narrow(c),
                                .weight_ih = Narrow(weight_ih),
                                .weight_hh = Narrow(weight_hh),
                                .bias_ih = Narrow(bias_ih),
                                .bias_hh = Narrow(bias_hh),
                                .is_reversed = reverse})) {
      auto& [y, last_h, last_c] = *found;
      return std::tuple(give(std::move(y)), give(std::move(last_h)), give(std::move(last_c)));
    }
    auto [y, last_h, last_c] = at::lstm(turned(Narrow(x), reverse), {state_of(h), state_of(c)},
                                        layer_weights(weight_ih, weight_hh, bias_ih, bias_hh), bias_ih.defined(), 1,
                                        0.0, is_trained(x), false, true);
    return std::tuple(give(turned(y, reverse)), give(last_h.squeeze(0)), give(last_c.squeeze(0)));
  });
}

std::tuple<Tensor, Tensor> gru(const Tensor& x, const Tensor& h, const Tensor& weight_ih, const Tensor& weight_hh,
                               const Tensor& bias_ih, const Tensor& bias_hh, bool reverse) {
  return guarded([&] {
    auto [y, last] =
        at::gru(turned(Narrow(x), reverse), state_of(h), layer_weights(weight_ih, weight_hh, bias_ih, bias_hh),
                bias_ih.defined(), 1, 0.0, is_trained(x), false, true);
    return std::tuple(give(turned(y, reverse)), give(last.squeeze(0)));
  });
}

std::tuple<Tensor, Tensor> rnn(const Tensor& x, const Tensor& h, const Tensor& weight_ih, const Tensor& weight_hh,
                               const Tensor& bias_ih, const Tensor& bias_hh, const Str& nonlinearity, bool reverse) {
  return guarded([&] {
    const at::Tensor input = turned(Narrow(x), reverse), start = state_of(h);
    const std::vector<at::Tensor> weights = layer_weights(weight_ih, weight_hh, bias_ih, bias_hh);
    auto [y, last] = nonlinearity == "relu"
                         ? at::rnn_relu(input, start, weights, bias_ih.defined(), 1, 0.0, is_trained(x), false, true)
                         : at::rnn_tanh(input, start, weights, bias_ih.defined(), 1, 0.0, is_trained(x), false, true);
    return std::tuple(give(turned(y, reverse)), give(last.squeeze(0)));
  });
}

}  // namespace ltr
