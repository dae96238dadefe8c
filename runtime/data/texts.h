#pragma once

// The texts of a batch as one tensor, so that they go where tensors go: to other ranks, into files, in parts.

#include <vector>

#include <ATen/core/Tensor.h>

#include "ltr/api.h"

namespace ltr {

/// `u8[texts, longest]`, each row the UTF-8 of a text, filled up with `kNoByte`.
at::Tensor pack_texts(const std::vector<Str>& texts);
std::vector<Str> unpack_texts(const at::Tensor& packed);

}  // namespace ltr
