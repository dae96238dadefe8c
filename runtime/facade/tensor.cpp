#include <ATen/ATen.h>

#include "ltr/operators.h"
#include "runtime/tensor/handle.h"
#include "runtime/tensor/host_read.h"
#include "runtime/tensor/precision.h"
#include "runtime/tensor/step_watch.h"

namespace ltr {

namespace {

c10::TensorImpl* implementation(void* impl) { return static_cast<c10::TensorImpl*>(impl); }

}  // namespace

Tensor::Tensor(const Tensor& other) : impl_(other.impl_) {
  if (impl_ != nullptr) c10::raw::intrusive_ptr::incref(implementation(impl_));
}

Tensor& Tensor::operator=(const Tensor& other) {
  Tensor copy(other);
  std::swap(impl_, copy.impl_);
  return *this;
}

void Tensor::release() { c10::raw::intrusive_ptr::decref(implementation(std::exchange(impl_, nullptr))); }

int64_t Tensor::dim() const { return In(*this)->dim(); }

int64_t Tensor::size(int64_t axis) const {
  return guarded([&] { return In(*this)->size(axis); });
}

Ints Tensor::shape() const { return In(*this)->sizes().vec(); }

DType Tensor::dtype() const { return dtype_of(In(*this)->scalar_type()); }

double Tensor::item() const {
  refuse_plan(Unplanned::HostRead);
  return guarded([&] { return read_number(In(*this)); });
}

int64_t Tensor::item_int() const {
  refuse_plan(Unplanned::HostRead);
  return guarded([&] { return read_whole_number(In(*this)); });
}

Tensor Tensor::unsqueeze(int64_t axis) const {
  return guarded([&] { return give(In(*this)->unsqueeze(axis)); });
}

Tensor Tensor::narrow(int64_t axis, int64_t start, int64_t length) const {
  return guarded([&] { return give(In(*this)->narrow(axis, start, length)); });
}

std::vector<at::Tensor> aten(const Tensors& tensors) {
  std::vector<at::Tensor> list;
  list.reserve(tensors.size());
  for (const Tensor& tensor : tensors) list.push_back(aten(tensor));
  return list;
}

Tensors give(std::vector<at::Tensor> tensors) {
  Tensors list;
  list.reserve(tensors.size());
  for (at::Tensor& tensor : tensors) list.push_back(give(std::move(tensor)));
  return list;
}

at::Scalar aten(const Scalar& scalar) { return scalar.is_int ? at::Scalar(scalar.whole) : at::Scalar(scalar.real); }

at::ScalarType aten(DType dtype) {
  switch (dtype) {
    case DType::Float: return policy_type();
    case DType::F16: return at::kHalf;
    case DType::BF16: return at::kBFloat16;
    case DType::F32: return at::kFloat;
    case DType::F64: return at::kDouble;
    case DType::I8: return at::kChar;
    case DType::I16: return at::kShort;
    case DType::I32: return at::kInt;
    case DType::I64: return at::kLong;
    case DType::U8: return at::kByte;
    case DType::Bool: return at::kBool;
  }
  return at::kFloat;
}

DType dtype_of(at::ScalarType dtype) {
  if (dtype == at::kFloat) return DType::F32;
  if (dtype == at::kHalf) return DType::F16;
  if (dtype == at::kBFloat16) return DType::BF16;
  if (dtype == at::kDouble) return DType::F64;
  if (dtype == at::kChar) return DType::I8;
  if (dtype == at::kShort) return DType::I16;
  if (dtype == at::kInt) return DType::I32;
  if (dtype == at::kLong) return DType::I64;
  if (dtype == at::kByte) return DType::U8;
  if (dtype == at::kBool) return DType::Bool;
  throw error_here(err::shape_check_failed, fmt::format("no element type {}", c10::toString(dtype)));
}

const Tensor& check_shape(const Tensor& tensor, std::initializer_list<int64_t> dims, const char* type,
                          const Location& location) {
  const In x(tensor);
  bool fits = x->dim() == static_cast<int64_t>(dims.size());
  int64_t axis = 0;
  for (const int64_t dim : dims) {
    if (!fits) break;
    fits = dim < 0 || x->size(axis++) == dim;
  }
  if (!fits) {
    throw error_at(location, err::shape_check_failed,
                   fmt::format("the value is [{}], but {} is wanted", fmt::join(x->sizes().vec(), ", "), type));
  }
  return tensor;
}

void check_holds(bool holds, const char* rule, const Location& location) {
  if (!holds) throw error_at(location, err::shape_check_failed, fmt::format("`{}` does not hold", rule));
}

void fail_assert(const Str& message, const Location& location) {
  throw error_at(location, err::assertion_failed, message);
}

}  // namespace ltr
