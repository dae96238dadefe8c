#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>

#include "ltr/ops.h"
#include "runtime/tensor/device.h"
#include "runtime/tensor/draw.h"
#include "runtime/tensor/handle.h"
#include "runtime/tensor/host_read.h"
#include "runtime/tensor/precision.h"
#include "runtime/tensor/range.h"

namespace ltr {

namespace {

at::TensorOptions of(at::ScalarType type) { return at::TensorOptions().dtype(type).device(run_device()); }
at::TensorOptions policy() { return of(policy_type()); }

/// An empty tensor to draw into. Draws are made in host memory, by one generator for all devices, and go to the device.
at::Tensor blank(const Ints& dims) { return at::empty(dims, policy_type()); }
Tensor drawn(const at::Tensor& tensor) { return give(tensor.to(run_device())); }

/// Inputs and outputs of a weight [outputs, inputs, kernel…], as PyTorch counts them.
std::pair<double, double> fans(const Ints& dims) {
  if (dims.size() < 2) throw error_here(err::shape_check_failed, "this initial value needs at least two dims");
  double kernel = 1;
  for (size_t i = 2; i < dims.size(); i++) kernel *= double(dims[i]);
  return {double(dims[1]) * kernel, double(dims[0]) * kernel};
}

}  // namespace

Tensor zeros(const Ints& dims) {
  return guarded([&] { return give(at::zeros(dims, policy())); });
}

Tensor ones(const Ints& dims) {
  return guarded([&] { return give(at::ones(dims, policy())); });
}

Tensor full(const Ints& dims, Scalar value) {
  return guarded([&] { return give(at::full(dims, aten(value), value.is_int ? of(at::kLong) : policy())); });
}

Tensor arange(int64_t n) {
  return guarded([&] { return give(at::arange(n, of(at::kLong))); });
}

Tensor linspace(double start, double end, int64_t n) {
  return guarded([&] { return give(at::linspace(start, end, n, policy())); });
}

Tensor eye(int64_t n) {
  return guarded([&] { return give(at::eye(n, policy())); });
}

Tensor one_hot(const Tensor& label, int64_t classes) {
  return guarded([&] {
    return in_range(In(label), classes, std::nullopt, "class", false,
                    [&] { return give(at::one_hot(In(label), classes)); });
  });
}

Tensor tensor_of(double value, DType dtype) {
  return guarded([&] { return give(at::scalar_tensor(value, of(aten(dtype)))); });
}

Tensor tensor_of(int64_t value, DType dtype) {
  return guarded([&] { return give(at::scalar_tensor(value, of(aten(dtype)))); });
}

Tensor tensor_of(bool value, DType dtype) {
  return guarded([&] { return give(at::scalar_tensor(value, of(aten(dtype)))); });
}

Tensor tensor_of(const Floats& values, DType dtype) {
  return guarded([&] { return drawn(at::tensor(at::ArrayRef<double>(values), at::kDouble).to(aten(dtype))); });
}

Tensor tensor_of(const Ints& values, DType dtype) {
  return guarded([&] { return drawn(at::tensor(at::ArrayRef<int64_t>(values), at::kLong).to(aten(dtype))); });
}

int64_t class_of(const Option<Str>& text, const std::vector<Str>& classes, Option<int64_t> missing,
                 Option<int64_t> other) {
  if (!text) {
    if (missing) return *missing;
    throw with_help(error_here(err::bad_record, "class_of", "the text is missing"),
                    "`missing = k` is the class of what is missing");
  }
  const auto place = std::find(classes.begin(), classes.end(), *text);
  if (place != classes.end()) return place - classes.begin();
  if (other) return *other;
  throw with_help(
      error_here(err::value_out_of_range, fmt::format("\"{}\" is none of {}", *text, fmt::join(classes, ", "))),
      "`other = k` is the class of all other texts");
}

// ---- random --------------------------------------------------------------------------------------------------

Tensor rand(const Ints& dims) {
  return guarded([&] { return drawn(fill_uniform(blank(dims), 0, 1)); });
}

Tensor randn(const Ints& dims) {
  return guarded([&] { return drawn(fill_normal(blank(dims), 0, 1)); });
}

Tensor randint(int64_t low, int64_t high, const Ints& dims) {
  return guarded([&] { return drawn(fill_whole(at::empty(dims, at::kLong), low, high)); });
}

Tensor normal(const Ints& dims, double mean, double std) {
  return guarded([&] { return drawn(fill_normal(blank(dims), mean, std)); });
}

Tensor uniform(const Ints& dims, double low, double high) {
  return guarded([&] { return drawn(fill_uniform(blank(dims), low, high)); });
}

Tensor randperm(int64_t n) {
  return guarded([&] { return drawn(draw_permutation(n)); });
}

Tensor bernoulli(const Tensor& p) {
  return guarded([&] {
    const In chance(p);
    if (read_number(at::logical_or(*chance < 0, *chance > 1).any()) != 0) {
      throw error_here(err::value_out_of_range, "bernoulli takes probabilities, numbers from 0 to 1");
    }
    const at::Tensor least = fill_uniform(at::empty(chance->sizes(), chance->scalar_type()), 0, 1).to(chance->device());
    return give((least < *chance).to(chance->scalar_type()));
  });
}

Tensor sample(const Tensor& probs) {
  return guarded([&] { return give(draw_index(wide(In(probs)))); });
}

// ---- scaled initial values -----------------------------------------------------------------------------------

Tensor xavier_uniform(const Ints& dims, double gain) {
  const auto [inputs, outputs] = fans(dims);
  const double bound = gain * std::sqrt(6 / (inputs + outputs));
  return uniform(dims, -bound, bound);
}

Tensor xavier_normal(const Ints& dims, double gain) {
  const auto [inputs, outputs] = fans(dims);
  return normal(dims, 0, gain * std::sqrt(2 / (inputs + outputs)));
}

Tensor kaiming_uniform(const Ints& dims, double gain) {
  const double bound = gain * std::sqrt(3 / fans(dims).first);
  return uniform(dims, -bound, bound);
}

Tensor kaiming_normal(const Ints& dims, double gain) { return normal(dims, 0, gain / std::sqrt(fans(dims).first)); }

Tensor orthogonal(const Ints& dims, double gain) {
  return guarded([&] {
    fans(dims);
    int64_t columns = 1;
    for (size_t i = 1; i < dims.size(); i++) columns *= dims[i];
    const int64_t rows = dims[0];
    const at::Tensor square =
        fill_normal(at::empty({std::max(rows, columns), std::min(rows, columns)}, at::kDouble), 0, 1);
    const auto [q, r] = at::linalg_qr(square);
    // With the signs of the diagonal of r the result is uniform over all such matrices.
    at::Tensor turned = q * at::sign(at::diagonal(r));
    if (rows < columns) turned = turned.t();
    return drawn((turned * gain).to(policy_type()).contiguous().reshape(dims));
  });
}

Tensor trunc_normal(const Ints& dims, double mean, double std) {
  return guarded([&] {
    at::Tensor value = fill_normal(at::empty(dims, at::kDouble), 0, 1);
    for (at::Tensor outside = value.abs() > 2; outside.any().item<bool>(); outside = value.abs() > 2) {
      value = at::where(outside, fill_normal(at::empty(dims, at::kDouble), 0, 1), value);
    }
    return drawn((value * std + mean).to(policy_type()));
  });
}

}  // namespace ltr
