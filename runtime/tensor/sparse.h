#pragma once

// Gradients of tables that name their rows: LibTorch's sparse tensors, without what asking for their parts dispatches.

#include <ATen/SparseTensorImpl.h>
#include <ATen/core/Tensor.h>

namespace ltr {

/// Rows and values of `tensor`, which is sparse.
inline const at::SparseTensorImpl& rows_of(const at::Tensor& tensor) {
  return *static_cast<const at::SparseTensorImpl*>(tensor.unsafeGetTensorImpl());
}

}  // namespace ltr
