#pragma once

// Ops of the hot path with one autograd node each, where ATen would record several views and copies. The forward
// arithmetic is ATen's own; gradients are differentiable themselves.

#include <ATen/core/Tensor.h>

namespace ltr {

/// x weightᵀ + bias; `bias` may be undefined.
at::Tensor linear_node(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias);

/// Cross entropy of `logits` [N, C] against classes, without class weights and smoothing.
at::Tensor cross_entropy_node(const at::Tensor& logits, const at::Tensor& target, int64_t reduction,
                              int64_t ignore_index);

}  // namespace ltr
