#pragma once

// A layer of an LSTM as one autograd node, where the machine has a kernel for it.

#include <ATen/core/Tensor.h>

#include <optional>
#include <tuple>

namespace ltr {

/// Inputs of one layer in one direction. Biases are both defined or both not.
struct LstmInputs {
  at::Tensor x;          ///< [batch, moments, inputs]
  at::Tensor h;          ///< [batch, hidden]
  at::Tensor c;          ///< [batch, hidden]
  at::Tensor weight_ih;  ///< [4 hidden, inputs], gates i f g o
  at::Tensor weight_hh;  ///< [4 hidden, hidden]
  at::Tensor bias_ih;    ///< [4 hidden]
  at::Tensor bias_hh;    ///< [4 hidden]
  bool is_reversed = false;
};

/// Outputs [batch, moments, hidden], the last output and the last cell [batch, hidden]; nothing where ATen must
/// compute: other types and devices than f32 on a CPU with AVX2. Gradients are differentiable themselves.
std::optional<std::tuple<at::Tensor, at::Tensor, at::Tensor>> lstm_node(const LstmInputs& inputs);

}  // namespace ltr
