#include "runtime/tensor/product.h"

#include <ATen/ATen.h>
#include <doctest/doctest.h>

#include "runtime/tensor/fused.h"

namespace ltr {

namespace {

/// Numbers of about 1, in f32, that hang on `key` alone.
at::Tensor waves(at::IntArrayRef shape, double key) {
  const at::Tensor places = at::arange(c10::multiply_integers(shape), at::kDouble);
  return (places * 0.731 + key).sin().reshape(shape).to(at::kFloat);
}

double distance(const at::Tensor& found, const at::Tensor& wide) {
  return ((found.to(at::kDouble) - wide).abs().max() / wide.abs().max()).item<double>();
}

}  // namespace

TEST_CASE("a product is the one of f64 to the last digits, at every size and stride") {
  for (const auto& [m, k, n] : {std::tuple<int64_t, int64_t, int64_t>{3, 4, 5},
                                {64, 32, 64},
                                {768, 128, 512},
                                {128, 784, 512},
                                {257, 129, 131},
                                {1, 4096, 1024},
                                {0, 5, 7}}) {
    const at::Tensor a = waves({m, k}, 1);
    const at::Tensor b = waves({n, k}, 2);
    const at::Tensor bias = waves({n}, 3);
    const at::Tensor turned_a = waves({k, m}, 4).t();
    const at::Tensor turned_b = waves({k, n}, 5).t();
    for (const auto& [left, right] : {std::pair{a, b}, {turned_a, b}, {a, turned_b}, {turned_a, turned_b}}) {
      const at::Tensor wide = left.to(at::kDouble).mm(right.to(at::kDouble).t());
      CHECK(product(left, right).sizes() == at::IntArrayRef({m, n}));
      if (m == 0) continue;
      CHECK(distance(product(left, right), wide) < 1e-5);
      CHECK(distance(product(left, right, bias), wide + bias.to(at::kDouble)) < 1e-5);
      CHECK(product(left, right).equal(product(left, right)));
    }
  }
}

TEST_CASE("a large linear node has the gradients of f64") {
  for (const std::vector<int64_t>& shape : {std::vector<int64_t>{512, 96}, {8, 64, 96}, {96}}) {
    const at::Tensor x = waves(shape, 1).requires_grad_(true);
    const at::Tensor weight = waves({160, 96}, 2).requires_grad_(true);
    const at::Tensor bias = waves({160}, 3).requires_grad_(true);
    const at::Tensor y = linear_node(x, weight, bias);
    const at::Tensor grad = waves(y.sizes(), 4);
    y.backward(grad);
    const at::Tensor wide_x = x.detach().to(at::kDouble).requires_grad_(true);
    const at::Tensor wide_weight = weight.detach().to(at::kDouble).requires_grad_(true);
    const at::Tensor wide_bias = bias.detach().to(at::kDouble).requires_grad_(true);
    const at::Tensor wide = at::linear(wide_x, wide_weight, wide_bias);
    wide.backward(grad.to(at::kDouble));
    CHECK(y.sizes() == wide.sizes());
    CHECK(distance(y, wide) < 1e-5);
    CHECK(x.grad().sizes() == x.sizes());
    CHECK(distance(x.grad(), wide_x.grad()) < 1e-5);
    CHECK(distance(weight.grad(), wide_weight.grad()) < 1e-5);
    CHECK(distance(bias.grad(), wide_bias.grad()) < 1e-5);
  }
}

}  // namespace ltr
