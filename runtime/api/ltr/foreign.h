#pragma once

// How generated code calls the C++ functions that an `extern` declares.

#include <functional>
#include <tuple>
#include <type_traits>

#include "ltr/extern.h"

namespace ltr::foreign {

/// A C++ function by its signature.
template <class Result, class... Params>
using Function = Result (*)(Params...);

/// Called in a handler: an error of the runtime keeps its code, anything else is R1012. Both name
/// the function, and the
/// `.ltr` statement that runs now.
[[noreturn]] LTR_EXPORT void fail(const char* name);
/// E0705: there is no form of the function for this device.
[[noreturn]] LTR_EXPORT void fail_device(const char* name, const char* file, bool on_cuda);

/// `result` if it is of type `dtype` and its last axes have the sizes `dims` (-1: any); the leading
/// axes are those of `like`, but for its last `like_last`. Else R1006 with `text`, whose `{}` is
/// what the result is.
LTR_EXPORT const Tensor& check_result(const Tensor& result, DType dtype, std::initializer_list<int64_t> dims,
                                      const char* text, const Tensor& like = {}, int64_t like_last = 0);

template <class T>
using Plain = std::remove_cv_t<std::remove_reference_t<T>>;

template <class Result, class... Params>
Result call(const char* name, Result (*function)(Params...), const std::type_identity_t<Plain<Params>>&... args) {
  try {
    return function(args...);
  } catch (...) {
    fail(name);
  }
}

inline const Tensor* first_tensor() { return nullptr; }
template <class Arg, class... Args>
const Tensor* first_tensor(const Arg& arg, const Args&... args) {
  if constexpr (std::is_same_v<Arg, Tensor>)
    return arg.defined() ? &arg : first_tensor(args...);
  else
    return first_tensor(args...);
}

/// The form of a function for the device of its first tensor. Either may be absent: it is weak.
template <class Function, class... Args>
Function* on_device(const char* name, const char* file, Function* on_cpu, Function* on_cuda, const Args&... args) {
  const Tensor* tensor = first_tensor(args...);
  const bool cuda = tensor != nullptr && is_cuda(*tensor);
  Function* chosen = cuda ? on_cuda : on_cpu;
  if (chosen == nullptr) fail_device(name, file, cuda);
  return chosen;
}

// ---- with a gradient of its own

struct Pair {
  const char* name;
  const char* backward_name;
  std::function<Tensors(const Tensors& inputs)> forward;
  /// The gradients of the floating inputs, in order.
  std::function<Tensors(const Tensors& inputs, const Tensors& outputs, const Tensors& gradients)> backward;
};
/// Runs the pair's forward unseen by autograd, which calls its backward.
LTR_EXPORT Tensors differentiable(const Tensors& inputs, Pair pair);

inline Tensors pack(const Tensor& value) { return {value}; }
template <class... Values>
Tensors pack(const std::tuple<Values...>& values) {
  return std::apply([](const Values&... each) { return Tensors{each...}; }, values);
}

template <class Arg>
void add_tensor(Tensors& list, const Arg& arg) {
  if constexpr (std::is_same_v<Arg, Tensor>) list.push_back(arg);
}
/// `arg`; a tensor is the next one of `tensors`.
template <class Arg>
const Arg& pick(const Arg& arg, const Tensors& tensors, size_t& next) {
  if constexpr (std::is_same_v<Arg, Tensor>)
    return tensors[next++];
  else
    return arg;
}

template <class Result>
struct Count : std::integral_constant<size_t, 1> {};
template <class... Values>
struct Count<std::tuple<Values...>> : std::integral_constant<size_t, sizeof...(Values)> {};

template <class Result, size_t... I>
Result unpack(const Tensors& values, std::index_sequence<I...>) {
  return Result{values[I]...};
}

template <class Gradients, class... Given, class... Args, size_t... I>
Tensors call_backward(Gradients (*backward)(Given...), const Tensors& outputs, const Tensors& gradients,
                      std::index_sequence<I...>, const Args&... args) {
  return pack(backward(args..., outputs[I]..., gradients[I]...));
}

template <class Result, class... Params, class Gradients, class... Given>
Result call(const char* name, const char* backward_name, Result (*function)(Params...), Gradients (*backward)(Given...),
            const std::type_identity_t<Plain<Params>>&... args) {
  constexpr auto kOutputs = std::make_index_sequence<Count<Result>::value>();
  Tensors inputs;
  (add_tensor(inputs, args), ...);
  Pair pair;
  pair.name = name;
  pair.backward_name = backward_name;
  pair.forward = [=](const Tensors& given) {
    size_t next = 0;
    const std::tuple<const Plain<Params>&...> all{pick(args, given, next)...};
    return pack(std::apply(function, all));
  };
  pair.backward = [=](const Tensors& given, const Tensors& outputs, const Tensors& gradients) {
    size_t next = 0;
    const std::tuple<const Plain<Params>&...> all{pick(args, given, next)...};
    return std::apply(
        [&](const auto&... each) { return call_backward(backward, outputs, gradients, kOutputs, each...); }, all);
  };
  return unpack<Result>(differentiable(inputs, std::move(pair)), kOutputs);
}

}  // namespace ltr::foreign
