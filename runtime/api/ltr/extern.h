#pragma once

// What the C++ functions of a program see: tensors with their operators, every function of the
// library over them, and the elements themselves. `NAME.ltr.h` includes it.

#include <type_traits>

#include "ltr/operators.h"
#include "ltr/ops.h"

namespace ltr {

#define LTR_OPERATOR(symbol, name)                                                                     \
  inline Tensor operator symbol(const Tensor& left, const Tensor& right) { return name(left, right); } \
  inline Tensor operator symbol(const Tensor& left, Scalar right) { return name(left, right); }        \
  inline Tensor operator symbol(Scalar left, const Tensor& right) { return name(left, right); }

LTR_OPERATOR(+, add)
LTR_OPERATOR(-, sub)
LTR_OPERATOR(*, mul)
LTR_OPERATOR(/, div)
LTR_OPERATOR(<, lt)
LTR_OPERATOR(<=, le)
LTR_OPERATOR(>, gt)
LTR_OPERATOR(>=, ge)
#undef LTR_OPERATOR
inline Tensor operator-(const Tensor& x) { return neg(x); }

// ---- elements
// A tensor made here has no history: a function that works on elements needs a `backward`.

/// A tensor whose elements are not set, on the device of `like`.
LTR_EXPORT Tensor empty(const Ints& dims, DType dtype, const Tensor& like);
/// Of the shape and type of `x`.
LTR_EXPORT Tensor empty_like(const Tensor& x);
/// The same elements in row-major order without gaps; `x` itself if it is so.
LTR_EXPORT Tensor contiguous(const Tensor& x);
/// Where the elements begin, on the tensor's device; R1006 unless they are `dtype` and contiguous.
LTR_EXPORT void* elements(const Tensor& x, DType dtype);

template <class T>
constexpr DType dtype_of_element() {
  if constexpr (std::is_same_v<T, float>) return DType::F32;
  if constexpr (std::is_same_v<T, double>) return DType::F64;
  if constexpr (std::is_same_v<T, int8_t>) return DType::I8;
  if constexpr (std::is_same_v<T, int16_t>) return DType::I16;
  if constexpr (std::is_same_v<T, int32_t>) return DType::I32;
  if constexpr (std::is_same_v<T, int64_t>) return DType::I64;
  if constexpr (std::is_same_v<T, uint8_t>) return DType::U8;
  if constexpr (std::is_same_v<T, bool>) return DType::Bool;
}

/// `data<float>(x)[i]` is element i of a contiguous f32 tensor.
template <class T>
T* data(const Tensor& x) {
  return static_cast<T*>(elements(x, dtype_of_element<T>()));
}

LTR_EXPORT bool is_cuda(const Tensor& x);
/// The queue of the device that this thread computes on: a `cudaStream_t`, null on the CPU. A kernel
/// that is started in it runs between the operations around its call, and nothing waits for it.
LTR_EXPORT void* stream();

}  // namespace ltr
