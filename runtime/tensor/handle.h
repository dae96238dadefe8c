#pragma once

// Between the opaque `ltr::Tensor` and `at::Tensor`: both are one counted pointer to the same implementation.

#include <ATen/ATen.h>

#include <utility>
#include <vector>

#include "ltr/api.h"
#include "runtime/api/error.h"

namespace ltr {

/// An `at::Tensor` that borrows from `tensor`, which outlives it: no count is touched.
class In {
 public:
  explicit In(const Tensor& tensor) {
    if (tensor.defined()) {
      tensor_ = at::Tensor(c10::intrusive_ptr<c10::TensorImpl, c10::UndefinedTensorImpl>(
          static_cast<c10::TensorImpl*>(tensor.impl()), c10::raw::DontIncreaseRefcount{}));
    }
  }
  ~In() { static_cast<void>(tensor_.unsafeReleaseTensorImpl()); }
  In(const In&) = delete;
  In& operator=(const In&) = delete;

  operator const at::Tensor&() const { return tensor_; }  // NOLINT(google-explicit-constructor)
  const at::Tensor& operator*() const { return tensor_; }
  const at::Tensor* operator->() const { return &tensor_; }

 private:
  at::Tensor tensor_;
};

/// Shares ownership.
inline at::Tensor aten(const Tensor& tensor) { return *In(tensor); }
inline Tensor give(at::Tensor tensor) {
  return tensor.defined() ? Tensor::adopt(tensor.unsafeReleaseTensorImpl()) : Tensor();
}
inline std::optional<at::Tensor> optional_aten(const Tensor& tensor) {
  return tensor.defined() ? std::optional<at::Tensor>(aten(tensor)) : std::nullopt;
}
std::vector<at::Tensor> aten(const Tensors& tensors);
Tensors give(std::vector<at::Tensor> tensors);
at::Scalar aten(const Scalar& scalar);

/// `DType::Float` becomes the policy type.
at::ScalarType aten(DType dtype);
/// R1006 for types that the language does not have.
DType dtype_of(at::ScalarType dtype);

/// Throws the exception in flight as an `ltr::Error` at the current `.ltr` statement.
[[noreturn]] void rethrow_translated();

/// Runs `body`, and translates what LibTorch throws.
template <class Body>
auto guarded(Body&& body) -> decltype(body()) {
  try {
    return body();
  } catch (...) {
    rethrow_translated();
  }
}

}  // namespace ltr
