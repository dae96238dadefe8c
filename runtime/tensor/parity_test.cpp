#include <doctest/doctest.h>

#include <ATen/ATen.h>
#include <torch/csrc/autograd/autograd.h>

#include <cmath>
#include <fstream>
#include <functional>
#include <map>

#include <nlohmann/json.hpp>

#include "ltr/ops.h"
#include "runtime/tensor/handle.h"
#include "runtime/tensor/mode.h"
#include "runtime/tensor/random.h"

// Against tests/parity/losses.json, which record_losses.py made with PyTorch.

namespace ltr {

namespace {

Tensor wave(const Ints& dims, double shift = 0) {
  int64_t n = 1;
  for (const int64_t dim : dims) n *= dim;
  return give(at::sin(0.7 * at::arange(n, at::kDouble) + shift).reshape(dims));
}

Tensor squared(const Tensor& x) { return sum(square(x), {}, false); }

Tensor lstm_sum(const Tensor& x) {
  const Tensor zero = give(at::zeros({2, 2}, at::kDouble));
  auto [y, h, c] =
      lstm(reshape(x, {2, 3, 5}), zero, zero, wave({8, 5}, 0), wave({8, 2}, 1), wave({8}, 2), wave({8}, 3), false);
  return add(add(squared(y), sum(h, {}, false)), sum(c, {}, false));
}

Tensor gru_sum(const Tensor& x) {
  const Tensor zero = give(at::zeros({2, 2}, at::kDouble));
  auto [y, h] = gru(reshape(x, {2, 3, 5}), zero, wave({6, 5}, 0), wave({6, 2}, 1), wave({6}, 2), wave({6}, 3), false);
  auto [z, last] = gru(reshape(x, {2, 3, 5}), zero, wave({6, 5}, 4), wave({6, 2}, 5), wave({6}, 6), wave({6}, 7), true);
  return add(add(squared(y), squared(z)), add(sum(h, {}, false), sum(last, {}, false)));
}

Tensor rnn_sum(const Tensor& x) {
  const Tensor zero = give(at::zeros({2, 2}, at::kDouble));
  auto [y, h] =
      rnn(reshape(x, {2, 3, 5}), zero, wave({2, 5}, 0), wave({2, 2}, 1), wave({2}, 2), wave({2}, 3), "relu", false);
  return add(squared(y), sum(h, {}, false));
}

const Str kMean = "mean";

std::map<Str, std::function<Tensor(const Tensor&)>> functions() {
  const Tensor label = tensor_of(Ints{1, 0, 4, 2, 3, 1});
  const Ints X{6, 5};
  return {
      {"cross_entropy", [=](const Tensor& x) { return cross_entropy(x, label, {}, {}, 0, kMean); }},
      {"cross_entropy smoothed", [=](const Tensor& x) { return cross_entropy(x, label, {}, {}, 0.1, kMean); }},
      {"cross_entropy weighted",
       [=](const Tensor& x) { return cross_entropy(x, label, add(abs(wave({5}, 1)), Scalar(0.1)), {}, 0, kMean); }},
      {"cross_entropy ignoring", [=](const Tensor& x) { return cross_entropy(x, label, {}, 1, 0, kMean); }},
      {"cross_entropy sum", [=](const Tensor& x) { return cross_entropy(x, label, {}, {}, 0, "sum"); }},
      {"bce_with_logits", [=](const Tensor& x) { return bce_with_logits(x, abs(wave(X, 2)), {}, kMean); }},
      {"mse", [=](const Tensor& x) { return mse(x, wave(X, 2), kMean); }},
      {"l1", [=](const Tensor& x) { return l1(x, wave(X, 2), kMean); }},
      {"huber", [=](const Tensor& x) { return huber(x, wave(X, 2), 0.5, kMean); }},
      {"smooth_l1", [=](const Tensor& x) { return smooth_l1(x, wave(X, 2), 0.5, kMean); }},
      {"kl_div", [=](const Tensor& x) { return kl_div(log_softmax(x, 1), softmax(wave(X, 2), 1), "batchmean"); }},
      {"poisson_nll", [=](const Tensor& x) { return poisson_nll(x, abs(wave(X, 2)), kMean); }},
      {"gaussian_nll",
       [=](const Tensor& x) { return gaussian_nll(x, wave(X, 2), add(abs(wave(X, 3)), Scalar(0.1)), 1e-6, kMean); }},
      {"triplet_margin", [=](const Tensor& x) { return triplet_margin(x, wave(X, 2), wave(X, 3), 1, kMean); }},
      {"gelu", [](const Tensor& x) { return squared(gelu(x, "erf")); }},
      {"gelu tanh", [](const Tensor& x) { return squared(gelu(x, "tanh")); }},
      {"leaky_relu", [](const Tensor& x) { return squared(leaky_relu(x, 0.2)); }},
      {"silu", [](const Tensor& x) { return squared(silu(x)); }},
      {"mish", [](const Tensor& x) { return squared(mish(x)); }},
      {"softplus", [](const Tensor& x) { return squared(softplus(x, 1)); }},
      {"layer_norm", [](const Tensor& x) { return squared(layer_norm(x, wave({5}, 1), wave({5}, 2), 1e-5)); }},
      {"rms_norm", [](const Tensor& x) { return squared(rms_norm(x, wave({5}, 1), 1e-6)); }},
      {"linear", [](const Tensor& x) { return squared(linear(x, wave({3, 5}, 1), wave({3}, 2))); }},
      {"linear 3d",
       [](const Tensor& x) { return squared(linear(reshape(x, {2, 3, 5}), wave({3, 5}, 1), wave({3}, 2))); }},
      {"linear no bias", [](const Tensor& x) { return squared(linear(x, wave({3, 5}, 1), {})); }},
      {"attention causal",
       [](const Tensor& x) {
         return squared(
             attention(reshape(x, {1, 1, 6, 5}), wave({1, 1, 6, 5}, 1), wave({1, 1, 6, 5}, 2), {}, true, 0, {}));
       }},
      {"lstm", lstm_sum},
      {"gru both ways", gru_sum},
      {"rnn relu", rnn_sum},
      {"cross_entropy soft",
       [=](const Tensor& x) { return soft_cross_entropy(x, softmax(wave(X, 2), 1), {}, 0.1, kMean); }},
      {"cross_entropy places",
       [=](const Tensor& x) { return cross_entropy(reshape(x, {2, 5, 3}), reshape(label, {2, 3}), {}, {}, 0, kMean); }},
      {"nll", [=](const Tensor& x) { return nll(log_softmax(x, 1), label, {}, {}, kMean); }},
      {"bce", [=](const Tensor& x) { return bce(sigmoid(x), abs(wave(X, 2)), kMean); }},
      {"bce_with_logits weighted",
       [=](const Tensor& x) {
         return bce_with_logits(x, abs(wave(X, 2)), add(abs(wave({5}, 1)), Scalar(0.1)), kMean);
       }},
      {"hinge", [=](const Tensor& x) { return hinge(x, sign(wave(X, 2)), 1, kMean); }},
      {"cosine_embedding",
       [=](const Tensor& x) { return cosine_embedding(x, wave(X, 2), sign(wave({6}, 1)), 0.2, kMean); }},
      {"ctc",
       [=](const Tensor& x) {
         const Tensor lengths = tensor_of(Ints{2, 1});
         const Tensor each =
             ctc_each(log_softmax(reshape(x, {3, 2, 5}), 2), reshape(tensor_of(Ints{1, 2, 3, 3}), {2, 2}),
                      tensor_of(Ints{3, 3}), lengths, 0, false);
         return mean(div(each, to(lengths, DType::F32)), {}, false);
       }},
      {"elu", [](const Tensor& x) { return squared(elu(x, 0.5)); }},
      {"selu", [](const Tensor& x) { return squared(selu(x)); }},
      {"hardswish", [](const Tensor& x) { return squared(hardswish(x)); }},
      {"logsigmoid", [](const Tensor& x) { return squared(logsigmoid(x)); }},
      {"relu6", [](const Tensor& x) { return squared(relu6(mul(x, Scalar(9.0)))); }},
      {"prelu", [](const Tensor& x) { return squared(prelu(x, wave({5}, 1))); }},
      {"glu", [](const Tensor& x) { return squared(glu(reshape(x, {5, 6}))); }},
      {"group_norm",
       [](const Tensor& x) { return squared(group_norm(reshape(x, {1, 6, 5}), 3, wave({6}, 1), wave({6}, 2), 1e-5)); }},
      {"instance_norm",
       [](const Tensor& x) {
         return squared(mul(instance_norm(reshape(x, {2, 3, 5}), {}, {}, 1e-5), wave({2, 3, 5}, 1)));
       }},
      {"conv_transpose2d",
       [](const Tensor& x) {
         return squared(conv_transpose2d(reshape(x, {1, 2, 3, 5}), wave({2, 2, 3, 3}, 1), wave({4}, 2), {2, 2}, {1, 1},
                                         {1, 1}, 2, {1, 1}));
       }},
      {"interpolate",
       [](const Tensor& x) { return squared(interpolate(reshape(x, {1, 1, 6, 5}), 9, 8, "bicubic", false)); }},
      {"focal", [=](const Tensor& x) { return focal(x, label, 2, kMean); }},
      {"focal sum", [=](const Tensor& x) { return focal(x, label, 0.5, "sum"); }},
      {"dice", [=](const Tensor& x) { return dice(sigmoid(x), abs(wave(X, 2)), 1); }},
      {"dice sharp", [=](const Tensor& x) { return dice(sigmoid(x), to(gt(wave(X, 2), Scalar(0.0)), DType::F64), 0); }},
      {"contrastive", [=](const Tensor& x) { return contrastive(x, wave(X, 2), 0.07); }},
      {"contrastive warm", [=](const Tensor& x) { return contrastive(x, wave(X, 2), 1); }},
      {"contrastive second", [=](const Tensor& x) { return contrastive(wave(X, 2), x, 0.3); }},
  };
}

}  // namespace

TEST_CASE("ops and losses equal PyTorch's, values and gradients, in f64") {
  std::ifstream file(LTR_SOURCE_DIR "/tests/parity/losses.json");
  REQUIRE(file);
  const nlohmann::json expected = nlohmann::json::parse(file);
  const auto table = functions();
  CHECK(table.size() == expected["rows"].size());
  for (const nlohmann::json& row : expected["rows"]) {
    const Str name = row["name"];
    CAPTURE(name);
    REQUIRE(table.contains(name));
    const at::Tensor x = aten(wave({6, 5})).requires_grad_(true);
    const Tensor value = table.at(name)(give(x));
    CHECK(value.item() == doctest::Approx(row["value"].get<double>()).epsilon(1e-12));
    torch::autograd::backward({aten(value)});
    const at::Tensor grad = x.grad().flatten().contiguous();
    double worst = 0;
    for (int64_t i = 0; i < grad.numel(); i++) {
      worst = std::max(worst, std::abs(grad.const_data_ptr<double>()[i] - row["grad"][size_t(i)].get<double>()));
    }
    CHECK(worst < 1e-12);
  }
}

TEST_CASE("a mistake in shapes is R1006 with the place of the statement, without torch's frames") {
  at({"x.ltr", 12, 3});
  try {
    matmul(zeros({2, 3}), zeros({4, 5}));
    FAIL("multiplied");
  } catch (const Error& error) {
    CHECK(error.code == "R1006");
    CHECK(error.location.line == 12);
    CHECK(error.message == "mat1 and mat2 shapes cannot be multiplied (2x3 and 4x5)");
  }
  CHECK_THROWS_AS(embedding(tensor_of(Ints{7}), zeros({5, 2})), Error);
  CHECK_THROWS_AS(mse(zeros({3, 1}), zeros({3}), "mean"), Error);
}

TEST_CASE("host numbers take the tensor's type, and integers divide truly") {
  CHECK(add(tensor_of(Ints{1, 2}), Scalar(1)).dtype() == DType::I64);
  CHECK(mul(tensor_of(Ints{1, 2}), Scalar(0.5)).dtype() == DType::F32);
  CHECK(div(tensor_of(Ints{1}), tensor_of(Ints{2})).item() == 0.5);
  CHECK(sub(Scalar(1.0), tensor_of(Floats{0.25})).item() == 0.75);
  CHECK(div(Scalar(1.0), tensor_of(Floats{4.0})).dtype() == DType::F32);
  CHECK(pow(Scalar(2.0), tensor_of(Floats{3.0})).item() == 8);
  CHECK(sum(eq(tensor_of(Ints{1, 2}), tensor_of(Ints{1, 3})), {}, false).item_int() == 1);
  CHECK(gt(Scalar(2), tensor_of(Ints{1})).item_int() == 1);
}

TEST_CASE("dropout follows the mode, and random numbers their key") {
  const Tensor x = ones({1000});
  CHECK(equal(dropout(x, 0.5), x));
  const ModeScope training(true, false);
  seed_random(random_key(1, "step", {2}));
  const Tensor a = dropout(x, 0.25);
  seed_random(random_key(1, "step", {2}));
  CHECK(equal(dropout(x, 0.25), a));
  seed_random(random_key(1, "step", {3}));
  CHECK_FALSE(equal(dropout(x, 0.25), a));
  CHECK(mean(a, {}, false).item() == doctest::Approx(1).epsilon(0.1));
}

TEST_CASE("writing into a slice changes no other name") {
  const Tensor x = zeros({2, 3});
  const Tensor y = put_slice(x, 1, 1, 3, tensor_of(5.0));
  CHECK(sum(x, {}, false).item() == 0);
  CHECK(sum(y, {}, false).item() == 20);
  CHECK(sum(put_select(x, 0, -1, tensor_of(2.0)), {}, false).item() == 6);
  CHECK(sum(put_tensor(x, 1, tensor_of(Ints{0, 2}), tensor_of(1.0)), {}, false).item() == 4);
}

TEST_CASE("gradients of gradients") {
  const at::Tensor x = aten(wave({4, 5})).requires_grad_(true);
  const Tensor w = wave({3, 5}, 1);
  const Tensor y = squared(linear(give(x), w, wave({3}, 2)));
  const Tensor penalty = squared(grad(y, give(x)));
  torch::autograd::backward({aten(penalty)});
  // y = |x wᵀ + b|², so dy/dx = 2 (x wᵀ + b) w and d|dy/dx|²/dx = 2 · 2 (dy/dx wᵀ) w.
  const at::Tensor matrix = aten(w);
  const at::Tensor first = 2 * (at::linear(x.detach(), matrix, aten(wave({3}, 2)))).mm(matrix);
  CHECK(at::allclose(x.grad(), 4 * first.mm(matrix.t()).mm(matrix), 1e-9, 1e-9));
}

}  // namespace ltr
