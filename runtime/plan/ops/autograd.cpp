// Ops of graphs: gradients that are LibTorch's autograd. A recurrent layer is computed again, and autograd goes back through it.

#include <ATen/ATen.h>
#include <torch/csrc/autograd/autograd.h>

#include <array>

#include "runtime/plan/ops.h"
#include "runtime/plan/ops/autograd.h"
#include "runtime/tensor/handle.h"

namespace ltr::plan {

namespace {

template <size_t count>
using Taken = std::array<Tensor, count>;

/// The gradients of what `layer` gives of `taken`, times `by`, by each of `taken` that is there.
template <size_t count, class Layer>
Taken<count> through(const Taken<count>& taken, const std::vector<Tensor>& by, const Layer& layer) {
  return guarded([&] {
    const WithAutograd autograd;
    Taken<count> leaves;
    std::vector<at::Tensor> wanted;
    for (size_t i = 0; i < count; ++i) {
      if (!taken[i].defined()) continue;
      wanted.push_back(In(taken[i])->detach().set_requires_grad(true));
      leaves[i] = give(wanted.back());
    }
    const std::vector<Tensor> results = layer(leaves);
    std::vector<at::Tensor> outputs, gradients;
    for (size_t i = 0; i < by.size(); ++i) {
      if (!by[i].defined()) continue;
      outputs.push_back(aten(results[i]));
      gradients.push_back(aten(by[i]));
    }
    const std::vector<at::Tensor> found = torch::autograd::grad(outputs, wanted, gradients, false, false, true);
    Taken<count> result;
    size_t next = 0;
    for (size_t i = 0; i < count; ++i) {
      if (!taken[i].defined()) continue;
      const at::Tensor& one = found[next];
      result[i] = give(one.defined() ? one : at::zeros_like(wanted[next]));
      ++next;
    }
    return result;
  });
}

}  // namespace

std::tuple<Tensor, Tensor, Tensor, Tensor, Tensor, Tensor, Tensor> lstm_backward(
    const Tensor& by_y, const Tensor& by_h, const Tensor& by_c, const Tensor& x, const Tensor& h, const Tensor& c,
    const Tensor& weight_ih, const Tensor& weight_hh, const Tensor& bias_ih, const Tensor& bias_hh, bool reverse) {
  return std::tuple_cat(through<7>({x, h, c, weight_ih, weight_hh, bias_ih, bias_hh}, {by_y, by_h, by_c},
                                   [&](const Taken<7>& in) -> std::vector<Tensor> {
                                     auto [y, last, cell] =
                                         ltr::lstm(in[0], in[1], in[2], in[3], in[4], in[5], in[6], reverse);
                                     return {std::move(y), std::move(last), std::move(cell)};
                                   }));
}

std::tuple<Tensor, Tensor, Tensor, Tensor, Tensor, Tensor> gru_backward(const Tensor& by_y, const Tensor& by_h,
                                                                        const Tensor& x, const Tensor& h,
                                                                        const Tensor& weight_ih,
                                                                        const Tensor& weight_hh, const Tensor& bias_ih,
                                                                        const Tensor& bias_hh, bool reverse) {
  return std::tuple_cat(through<6>({x, h, weight_ih, weight_hh, bias_ih, bias_hh}, {by_y, by_h},
                                   [&](const Taken<6>& in) -> std::vector<Tensor> {
                                     auto [y, last] = ltr::gru(in[0], in[1], in[2], in[3], in[4], in[5], reverse);
                                     return {std::move(y), std::move(last)};
                                   }));
}

std::tuple<Tensor, Tensor, Tensor, Tensor, Tensor, Tensor> rnn_backward(
    const Tensor& by_y, const Tensor& by_h, const Tensor& x, const Tensor& h, const Tensor& weight_ih,
    const Tensor& weight_hh, const Tensor& bias_ih, const Tensor& bias_hh, const Str& nonlinearity, bool reverse) {
  return std::tuple_cat(through<6>(
      {x, h, weight_ih, weight_hh, bias_ih, bias_hh}, {by_y, by_h}, [&](const Taken<6>& in) -> std::vector<Tensor> {
        auto [y, last] = ltr::rnn(in[0], in[1], in[2], in[3], in[4], in[5], nonlinearity, reverse);
        return {std::move(y), std::move(last)};
      }));
}

Tensors loss_gradients(const Tensor& loss, const Tensor& seed, const Tensors& by, bool keep_graph) {
  return guarded([&] {
    const WithAutograd autograd;
    return give(torch::autograd::grad({aten(loss)}, aten(by), {aten(seed)}, keep_graph, false, true));
  });
}

}  // namespace ltr::plan
