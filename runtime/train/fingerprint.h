#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

namespace ltr {

/// A number that tells the bits of a tensor, its shape and type from others'. Not against intent: ranks compare what they
/// computed with it.
uint64_t fingerprint(const at::Tensor& tensor);

}  // namespace ltr
