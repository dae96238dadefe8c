#include <ATen/ATen.h>

#include "ltr/ops.h"
#include "runtime/tensor/draw.h"
#include "runtime/tensor/handle.h"
#include "runtime/tensor/mode.h"
#include "runtime/tensor/precision.h"

namespace ltr {

namespace {

/// Zero with probability `p`, else 1 / (1 - p): one factor for each element of `sizes`.
at::Tensor dropout_mask(at::IntArrayRef sizes, const at::TensorOptions& options, double p) {
  at::Tensor mask = at::empty(sizes, options.memory_format(at::MemoryFormat::Contiguous));
  return p >= 1 ? mask.zero_() : fill_kept(std::move(mask), 1 - p, 1 / (1 - p));
}

void check_probability(double p) {
  if (!(p >= 0 && p <= 1)) throw error_here(err::out_of_range, "dropout", p, "p >= 0 and p <= 1");
}

}  // namespace

Tensor relu(const Tensor& x) {
  return guarded([&] { return give(at::relu(In(x))); });
}

Tensor relu6(const Tensor& x) {
  return guarded([&] { return give(at::hardtanh(In(x), 0, 6)); });
}

Tensor logsigmoid(const Tensor& x) {
  return guarded([&] { return give(at::log_sigmoid(wide(In(x)))); });
}

Tensor gelu(const Tensor& x, const Str& form) {
  return guarded([&] { return give(at::gelu(In(x), form == "tanh" ? "tanh" : "none")); });
}

Tensor silu(const Tensor& x) {
  return guarded([&] { return give(at::silu(In(x))); });
}

Tensor mish(const Tensor& x) {
  return guarded([&] { return give(at::mish(In(x))); });
}

Tensor elu(const Tensor& x, double alpha) {
  return guarded([&] { return give(at::elu(In(x), alpha)); });
}

Tensor selu(const Tensor& x) {
  return guarded([&] { return give(at::selu(In(x))); });
}

Tensor leaky_relu(const Tensor& x, double slope) {
  return guarded([&] { return give(at::leaky_relu(In(x), slope)); });
}

Tensor prelu(const Tensor& x, const Tensor& weight) {
  return guarded([&] { return give(at::prelu(In(x), In(weight))); });
}

Tensor softplus(const Tensor& x, double beta) {
  return guarded([&] { return give(at::softplus(wide(In(x)), beta)); });
}

Tensor hardswish(const Tensor& x) {
  return guarded([&] { return give(at::hardswish(In(x))); });
}

Tensor glu(const Tensor& x) {
  return guarded([&] { return give(at::glu(In(x), -1)); });
}

Tensor swiglu(const Tensor& x) {
  return guarded([&] {
    const std::vector<at::Tensor> halves = at::chunk(In(x), 2, -1);
    return give(at::silu(halves[0]) * halves[1]);
  });
}

Tensor softmax(const Tensor& x, int64_t dim) {
  return guarded([&] { return give(at::softmax(wide(In(x)), dim)); });
}

Tensor log_softmax(const Tensor& x, int64_t dim) {
  return guarded([&] { return give(at::log_softmax(wide(In(x)), dim)); });
}

Tensor dropout(const Tensor& x, double p) {
  if (!is_training() || p == 0) return x;
  check_probability(p);
  return guarded([&] {
    const In values(x);
    return give(at::mul(values, dropout_mask(values->sizes(), values->options(), p)));
  });
}

Tensor dropout2d(const Tensor& x, double p) {
  if (!is_training() || p == 0) return x;
  check_probability(p);
  return guarded([&] {
    const In images(x);
    return give(at::mul(images, dropout_mask({images->size(0), images->size(1), 1, 1}, images->options(), p)));
  });
}

}  // namespace ltr
