#pragma once

// Small values of a run that outlive it.

#include <ATen/core/Tensor.h>

#include <vector>

namespace ltr::plan {

/// Whether nobody but who asks would see it overwritten: neither the tensor nor, through a view, its memory.
bool is_free(const at::Tensor& tensor);

/// Copies in tensors that nobody holds any more: once there are as many as are held at a time, one more takes no memory.
class Copies {
 public:
  /// Equal to `value`, the newest of what goes by `name`, and overwritten by nobody while it is held.
  at::Tensor of(size_t name, const at::Tensor& value);

 private:
  std::vector<std::vector<at::Tensor>> made_;  ///< by name
};

}  // namespace ltr::plan
