#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>

#include "ltr/ops.h"
#include "runtime/tensor/handle.h"
#include "runtime/tensor/precision.h"
#include "runtime/tensor/random_source.h"

namespace ltr {

namespace {

at::TensorOptions policy() { return at::TensorOptions().dtype(policy_type()); }

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
  return guarded([&] { return give(at::full(dims, aten(value), value.is_int ? at::TensorOptions(at::kLong) : policy())); });
}

Tensor arange(int64_t n) {
  return guarded([&] { return give(at::arange(n, at::kLong)); });
}

Tensor linspace(double start, double end, int64_t n) {
  return guarded([&] { return give(at::linspace(start, end, n, policy())); });
}

Tensor eye(int64_t n) {
  return guarded([&] { return give(at::eye(n, policy())); });
}

Tensor one_hot(const Tensor& label, int64_t classes) {
  return guarded([&] { return give(at::one_hot(In(label), classes)); });
}

Tensor tensor_of(double value, DType dtype) {
  return guarded([&] { return give(at::scalar_tensor(value, aten(dtype))); });
}

Tensor tensor_of(int64_t value, DType dtype) {
  return guarded([&] { return give(at::scalar_tensor(value, aten(dtype))); });
}

Tensor tensor_of(bool value, DType dtype) {
  return guarded([&] { return give(at::scalar_tensor(value, aten(dtype))); });
}

Tensor tensor_of(const Floats& values, DType dtype) {
  return guarded([&] { return give(at::tensor(at::ArrayRef<double>(values), aten(dtype))); });
}

Tensor tensor_of(const std::vector<bool>& values, DType dtype) {
  return tensor_of(Ints(values.begin(), values.end()), dtype);
}

Tensor tensor_of(const Ints& values, DType dtype) {
  return guarded([&] { return give(at::tensor(at::ArrayRef<int64_t>(values), at::kLong).to(aten(dtype))); });
}

int64_t class_of(const Str& text, const std::vector<Str>& classes) {
  const auto place = std::find(classes.begin(), classes.end(), text);
  if (place == classes.end()) {
    throw error_here(err::value_out_of_range, fmt::format("\"{}\" is none of {}", text, fmt::join(classes, ", ")));
  }
  return place - classes.begin();
}

// ---- random --------------------------------------------------------------------------------------------------

Tensor rand(const Ints& dims) {
  return guarded([&] { return give(at::rand(dims, generator(), policy())); });
}

Tensor randn(const Ints& dims) {
  return guarded([&] { return give(at::randn(dims, generator(), policy())); });
}

Tensor randint(int64_t low, int64_t high, const Ints& dims) {
  return guarded([&] { return give(at::randint(low, high, dims, generator(), at::kLong)); });
}

Tensor normal(const Ints& dims, double mean, double std) {
  return guarded([&] { return give(at::empty(dims, policy()).normal_(mean, std, generator())); });
}

Tensor uniform(const Ints& dims, double low, double high) {
  return guarded([&] { return give(at::empty(dims, policy()).uniform_(low, high, generator())); });
}

Tensor randperm(int64_t n) {
  return guarded([&] { return give(at::randperm(n, generator(), at::kLong)); });
}

Tensor bernoulli(const Tensor& p) {
  return guarded([&] { return give(at::bernoulli(In(p), generator())); });
}

Tensor sample(const Tensor& probs) {
  return guarded([&] { return give(at::multinomial(wide(In(probs)), 1, true, generator())); });
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
    at::Tensor square = at::empty({std::max(rows, columns), std::min(rows, columns)}, at::kDouble);
    square.normal_(0, 1, generator());
    const auto [q, r] = at::linalg_qr(square);
    // With the signs of the diagonal of r the result is uniform over all such matrices.
    at::Tensor turned = q * at::sign(at::diagonal(r));
    if (rows < columns) turned = turned.t();
    return give((turned * gain).to(policy_type()).contiguous().reshape(dims));
  });
}

Tensor trunc_normal(const Ints& dims, double mean, double std) {
  return guarded([&] {
    at::Tensor value = at::empty(dims, at::kDouble).normal_(0, 1, generator());
    for (at::Tensor outside = value.abs() > 2; outside.any().item<bool>(); outside = value.abs() > 2) {
      value = at::where(outside, at::empty(dims, at::kDouble).normal_(0, 1, generator()), value);
    }
    return give((value * std + mean).to(policy_type()));
  });
}

}  // namespace ltr
