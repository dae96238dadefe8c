#pragma once

#include <ATen/core/Tensor.h>

namespace ltr {

/// What attention takes the soft-max of: q kᵀ · scale, [B, H, S, L], with the places that a row does not see at -∞. `mask` as the
/// function takes it, or undefined; `q` and `k` have as many heads.
at::Tensor attention_scores(const at::Tensor& q, const at::Tensor& k, const at::Tensor& mask, bool causal,
                            double scale);

}  // namespace ltr
