#pragma once

// Files of tensors, by name.

#include <map>
#include <vector>

#include <ATen/core/Tensor.h>

#include "ltr/api.h"

namespace ltr {

struct NamedTensor {
  Str name;
  at::Tensor tensor;
};

/// A safetensors file. Gives its SHA-256.
Str write_tensors(const Str& path, const std::vector<NamedTensor>& tensors);

/// Tensors of a safetensors or PyTorch file, by name; R2010 if it is missing or of no use, R2011 if it is damaged.
std::map<Str, at::Tensor> read_tensors(const Str& file);

}  // namespace ltr
