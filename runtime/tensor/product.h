#pragma once

// Products of matrices, by the faster of the libraries that LibTorch holds.

#include <ATen/core/Tensor.h>

namespace ltr {

/// a bᵀ + bias of matrices a [M, K] and b [N, K], of any strides; `bias` [N] may be undefined. Below autograd.
at::Tensor product(const at::Tensor& a, const at::Tensor& b, const at::Tensor& bias = {});

}  // namespace ltr
