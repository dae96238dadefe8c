#pragma once

// What LibTorch's functions of several indices take.

#include <ATen/core/List.h>
#include <ATen/core/Tensor.h>

#include <optional>

namespace ltr {

/// `index` at `dim` of `x`, all of every axis before.
inline c10::List<std::optional<at::Tensor>> indices(int64_t dim, const at::Tensor& x, const at::Tensor& index) {
  c10::List<std::optional<at::Tensor>> list;
  const int64_t axis = dim < 0 ? dim + x.dim() : dim;
  for (int64_t i = 0; i < axis; i++) list.push_back(std::nullopt);
  list.push_back(index);
  return list;
}

}  // namespace ltr
