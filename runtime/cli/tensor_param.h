#pragma once

// Tensor parameters of `step predict` that flags give.

#include <ATen/core/Tensor.h>

#include "ltr/program.h"

namespace ltr::cli {

/// The characters that the program's text source numbers; null if it has none.
const std::vector<int32_t>* characters_of(const Data& data);

/// Whether a type as text is that of a tensor, such as `i64[B, T]`, and not `list[int]`.
bool is_tensor_type(const Str& type);

/// The value of `param`: JSON, `@file.npy|.json|.safetensors`, of whose tensors the one of its name or the only one, or text that the data's vocabulary encodes, which sets `is_text`.
/// R2003 for what is none of them.
at::Tensor tensor_param(const StepParam& param, const Str& given, const Data& data, bool& is_text);

}  // namespace ltr::cli
