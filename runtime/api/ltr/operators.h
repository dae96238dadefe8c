#pragma once

// What the operators and brackets of the language call: element-wise arithmetic over tensors and host numbers, with
// PyTorch's broadcasting; and the few functions that are not declared in the standard library.

#include "ltr/api.h"

namespace ltr {

LTR_STEP_BEGIN
#define LTR_BINARY(name)                                           \
  LTR_EXPORT Tensor name(const Tensor& left, const Tensor& right); \
  LTR_EXPORT Tensor name(const Tensor& left, Scalar right);        \
  LTR_EXPORT Tensor name(Scalar left, const Tensor& right);

LTR_BINARY(add)
LTR_BINARY(sub)
LTR_BINARY(mul)
LTR_BINARY(div)  ///< true division; of two integer tensors it is of the policy type
LTR_BINARY(pow)
LTR_BINARY(remainder)  ///< has the sign of the divisor
LTR_BINARY(eq)
LTR_BINARY(ne)
LTR_BINARY(lt)
LTR_BINARY(le)
LTR_BINARY(gt)
LTR_BINARY(ge)
LTR_BINARY(logical_and)
LTR_BINARY(logical_or)
LTR_BINARY(minimum)
LTR_BINARY(maximum)
#undef LTR_BINARY

LTR_EXPORT Tensor neg(const Tensor& x);
LTR_EXPORT Tensor logical_not(const Tensor& x);
LTR_EXPORT Tensor where(const Tensor& condition, const Tensor& a, Scalar b);
LTR_EXPORT Tensor where(const Tensor& condition, Scalar a, const Tensor& b);
LTR_EXPORT Tensor where(const Tensor& condition, Scalar a, Scalar b);

// What brackets are made of. `x[2]` is `select`, a function of the library.

/// `start .. end` of `dim`, clamped: `x[:, 1 .. 3]`.
LTR_EXPORT Tensor slice(const Tensor& x, int64_t dim, Option<int64_t> start, Option<int64_t> end);
/// What stands at `index`, i64 or bool, of axis `dim`: `x[mask]`.
LTR_EXPORT Tensor index_tensor(const Tensor& x, int64_t dim, const Tensor& index);
/// `x` with `value` as element `index` of `dim`: `x[i] = v`.
LTR_EXPORT Tensor put_select(const Tensor& x, int64_t dim, int64_t index, const Tensor& value);
/// `x` with `value` at `start .. end` of `dim`: `x[a .. b] = v`.
LTR_EXPORT Tensor put_slice(const Tensor& x, int64_t dim, Option<int64_t> start, Option<int64_t> end,
                            const Tensor& value);
/// `x` with `value` where `index`, i64 or bool, points along `dim`: `x[mask] = v`.
LTR_EXPORT Tensor put_tensor(const Tensor& x, int64_t dim, const Tensor& index, const Tensor& value);

/// `x.to(i64)`. `DType::Float` is the policy type.
LTR_EXPORT Tensor to(const Tensor& x, DType dtype);

/// A host value where a tensor is asked for: `float[]`, `i64[]`, `bool[]`, or one dim of them, on the given type.
LTR_EXPORT Tensor tensor_of(double value, DType dtype = DType::Float);
LTR_EXPORT Tensor tensor_of(int64_t value, DType dtype = DType::I64);
inline Tensor tensor_of(int value, DType dtype = DType::I64) { return tensor_of(int64_t(value), dtype); }
LTR_EXPORT Tensor tensor_of(bool value, DType dtype = DType::Bool);
LTR_EXPORT Tensor tensor_of(const Floats& values, DType dtype = DType::Float);
LTR_EXPORT Tensor tensor_of(const Ints& values, DType dtype = DType::I64);
inline Tensor tensor_of(const std::vector<bool>& values, DType dtype = DType::Bool) {
  return tensor_of(Ints(values.begin(), values.end()), dtype);
}

/// `buffer = value` in a block: writes the values into the registered tensor, without gradient. R1006 if the shapes
/// differ.
LTR_EXPORT void assign(const Tensor& buffer, const Tensor& value);
LTR_EXPORT void assign(const Tensor& buffer, Scalar value);

/// `cat([kept, more])` for a state that grows over an epoch: `kept` stays as it is, and its elements are copied only when
/// the memory behind it, which doubles, is full or taken.
LTR_EXPORT Tensor append(const Tensor& kept, const Tensor& more);

/// Whether `every period { … }` runs now: steps by `global_step`, epochs by `epoch`; in an `…_end` hook both count what
/// is completed. Durations are R2003.
LTR_EXPORT bool due(const Context& cx, const Value& period, bool is_end);
LTR_STEP_END

/// Whether blocks are in training mode now, in this thread.
LTR_EXPORT bool is_training();

/// Of tests: every element within `tolerance` (absolute and relative); equal in type, shape and every element.
LTR_EXPORT bool close(const Tensor& a, const Tensor& b, double tolerance);
LTR_EXPORT bool close(double a, double b, double tolerance);
LTR_EXPORT bool equal(const Tensor& a, const Tensor& b);

/// Code points `first` to `end` of `text`, as a slice of a tensor: negative ones count from the end, others are clamped.
LTR_EXPORT Str slice_text(const Str& text, Option<int64_t> first, Option<int64_t> end);

/// The ints of a tuple, and of the tuples in it, in a row.
template <class... Parts>
Ints ints(const std::tuple<Parts...>& parts) {
  Ints all;
  const auto add = [&](const auto& part) {
    if constexpr (std::is_same_v<std::decay_t<decltype(part)>, int64_t>) {
      all.push_back(part);
    } else {
      const Ints inner = ints(part);
      all.insert(all.end(), inner.begin(), inner.end());
    }
  };
  std::apply([&](const Parts&... part) { (add(part), ...); }, parts);
  return all;
}

template <class T>
std::vector<T> join_lists(std::vector<T> first, const std::vector<T>& second) {
  first.insert(first.end(), second.begin(), second.end());
  return first;
}

/// The texts of a batch, as `print` shows a list of them.
LTR_EXPORT Str show_texts(const Tensor& texts);

}  // namespace ltr
