#pragma once

#include "runtime/tensor/handle.h"
#include "runtime/tensor/precision.h"

namespace ltr {

/// What a product takes: the tensor itself, borrowed, unless the precision narrows it.
class Narrow {
 public:
  explicit Narrow(const Tensor& tensor) : borrowed_(tensor) {
    if (precision().narrows && tensor.defined()) cast_ = cast_narrow(borrowed_);
  }
  operator const at::Tensor&() const { return cast_.defined() ? cast_ : *borrowed_; }  // NOLINT
  const at::Tensor& operator*() const { return *this; }
  const at::Tensor* operator->() const { return &static_cast<const at::Tensor&>(*this); }
  std::optional<at::Tensor> optional() const {
    const at::Tensor& value = *this;
    return value.defined() ? std::optional<at::Tensor>(value) : std::nullopt;
  }

 private:
  In borrowed_;
  at::Tensor cast_;
};

}  // namespace ltr
