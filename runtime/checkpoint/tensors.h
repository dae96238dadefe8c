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

/// Tensors of a safetensors or PyTorch file, by name; R2010 if it is missing or of no use, R2011 if it is damaged. They are
/// pages of the file, which memory gets when they are read: who wants a part takes that. Nobody may write to them.
std::map<Str, at::Tensor> read_tensors(const Str& file);

/// A tensor of which several ranks wrote parts, end to end.
struct PartedTensor {
  struct Part {
    int64_t begin;
    at::Tensor values;  ///< in one row
  };
  std::vector<int64_t> sizes;
  std::vector<Part> parts;

  /// Its elements from `begin` to `end`, in one row. Only these are read.
  at::Tensor elements(int64_t begin, int64_t end) const;
  at::Tensor whole() const;
};

/// What a checkpoint has beside weights.
struct StoredState {
  std::map<Str, at::Tensor> tensors;
  std::map<Str, PartedTensor> parted;
};

}  // namespace ltr
