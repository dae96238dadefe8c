#include "runtime/tensor/lstm_node.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <doctest/doctest.h>
#include <torch/csrc/autograd/autograd.h>

#include "runtime/kernels/lstm.h"

namespace ltr {

namespace {

at::Tensor ripple(at::IntArrayRef shape, double key) {
  const at::Tensor places = at::arange(c10::multiply_integers(shape), at::kDouble);
  return ((places * 0.731 + key).sin() * 0.8).reshape(shape).to(at::kFloat);
}

LstmInputs layer(int64_t batch, int64_t moments, int64_t inputs, int64_t hidden, bool has_bias, bool is_reversed) {
  LstmInputs in{.x = ripple({batch, moments, inputs}, 1),
                .h = ripple({batch, hidden}, 2),
                .c = ripple({batch, hidden}, 3) * 2,
                .weight_ih = ripple({4 * hidden, inputs}, 4) * 0.5,
                .weight_hh = ripple({4 * hidden, hidden}, 5) * 0.4,
                .bias_ih = {},
                .bias_hh = {},
                .is_reversed = is_reversed};
  if (has_bias) {
    in.bias_ih = ripple({4 * hidden}, 6);
    in.bias_hh = ripple({4 * hidden}, 7);
  }
  return in;
}

std::vector<at::Tensor> leaves(const LstmInputs& in) {
  std::vector<at::Tensor> list = {in.x, in.h, in.c, in.weight_ih, in.weight_hh};
  if (in.bias_ih.defined()) list.insert(list.end(), {in.bias_ih, in.bias_hh});
  return list;
}

LstmInputs wide(const LstmInputs& in) {
  LstmInputs out = in;
  for (at::Tensor* tensor : {&out.x, &out.h, &out.c, &out.weight_ih, &out.weight_hh, &out.bias_ih, &out.bias_hh}) {
    if (tensor->defined()) *tensor = tensor->detach().to(at::kDouble);
  }
  return out;
}

void want_gradients(const LstmInputs& in) {
  for (at::Tensor tensor : leaves(in)) tensor.requires_grad_(true);
}

/// LibTorch's own, in f64.
std::tuple<at::Tensor, at::Tensor, at::Tensor> reference(const LstmInputs& in) {
  const auto turned = [&](const at::Tensor& x) { return in.is_reversed ? x.flip(1) : x; };
  std::vector<at::Tensor> weights = {in.weight_ih, in.weight_hh};
  if (in.bias_ih.defined()) weights.insert(weights.end(), {in.bias_ih, in.bias_hh});
  auto [y, h, c] = at::lstm(turned(in.x), {in.h.unsqueeze(0), in.c.unsqueeze(0)}, weights, in.bias_ih.defined(), 1, 0.0,
                            false, false, true);
  return {turned(y), h.squeeze(0), c.squeeze(0)};
}

/// A number that hangs on all that the layer gives.
at::Tensor seen(const std::tuple<at::Tensor, at::Tensor, at::Tensor>& out) {
  const auto& [y, h, c] = out;
  const auto weighed = [](const at::Tensor& t, double key) {
    return (t * ripple(t.sizes(), key).to(t.scalar_type())).sum();
  };
  return weighed(y, 8) + weighed(h, 9) + weighed(c, 10);
}

double apart(const at::Tensor& found, const at::Tensor& wanted) {
  return ((found.to(at::kDouble) - wanted).abs().max() / wanted.abs().max()).item<double>();
}

}  // namespace

TEST_CASE("an LSTM layer and its gradients are those of f64" * doctest::skip(kernels::lstm_kernel() == nullptr)) {
  for (const auto& [batch, moments, inputs, hidden] : {std::array<int64_t, 4>{1, 1, 1, 1},
                                                       {3, 5, 7, 4},
                                                       {2, 9, 3, 16},
                                                       {7, 4, 5, 20},
                                                       {13, 6, 32, 100},
                                                       {32, 17, 32, 128}}) {
    for (const bool has_bias : {true, false}) {
      for (const bool is_reversed : {false, true}) {
        CAPTURE(hidden);
        CAPTURE(has_bias);
        CAPTURE(is_reversed);
        const LstmInputs in = layer(batch, moments, inputs, hidden, has_bias, is_reversed);
        const LstmInputs in64 = wide(in);
        want_gradients(in);
        want_gradients(in64);
        const auto out = lstm_node(in);
        REQUIRE(out);
        const auto wanted = reference(in64);
        const auto narrow = reference(in);  // sums of f32 are that far from those of f64
        CHECK(apart(std::get<0>(*out), std::get<0>(wanted)) <
              1.5 * apart(std::get<0>(narrow), std::get<0>(wanted)) + 2e-7);
        CHECK(apart(std::get<1>(*out), std::get<1>(wanted)) <
              1.5 * apart(std::get<1>(narrow), std::get<1>(wanted)) + 2e-7);
        CHECK(apart(std::get<2>(*out), std::get<2>(wanted)) <
              1.5 * apart(std::get<2>(narrow), std::get<2>(wanted)) + 2e-7);
        seen(*out).backward();
        seen(wanted).backward();
        for (size_t i = 0; i < leaves(in).size(); ++i) {
          CAPTURE(i);
          CHECK(leaves(in)[i].grad().sizes() == leaves(in)[i].sizes());
          CHECK(apart(leaves(in)[i].grad(), leaves(in64)[i].grad()) < 1e-5);
        }
      }
    }
  }
}

TEST_CASE("gradients of an LSTM's gradients are those of f64" * doctest::skip(kernels::lstm_kernel() == nullptr)) {
  const LstmInputs in = layer(3, 4, 5, 6, true, true), in64 = wide(in);
  const auto penalty = [](const LstmInputs& of, const at::Tensor& value) {
    return torch::autograd::grad({value}, {of.x}, {}, true, true)[0].square().sum();
  };
  want_gradients(in);
  want_gradients(in64);
  penalty(in, seen(*lstm_node(in))).backward();
  penalty(in64, seen(reference(in64))).backward();
  for (size_t i = 0; i < leaves(in).size(); ++i) CHECK(apart(leaves(in)[i].grad(), leaves(in64)[i].grad()) < 1e-5);
}

TEST_CASE("bits of an LSTM do not hang on threads, nor on the rows beside" *
          doctest::skip(kernels::lstm_kernel() == nullptr)) {
  const LstmInputs in = layer(32, 16, 32, 100, true, false);
  const int threads = at::get_num_threads();
  const auto run = [&](const LstmInputs& of, int with) {
    at::set_num_threads(with);
    auto out = *lstm_node(of);
    at::set_num_threads(threads);
    return std::get<0>(out);
  };
  const at::Tensor one = run(in, 1);
  CHECK(run(in, 2).equal(one));
  CHECK(run(in, 3).equal(one));
}

TEST_CASE("numbers that are not finite stay so, large ones saturate" *
          doctest::skip(kernels::lstm_kernel() == nullptr)) {
  LstmInputs in = layer(4, 3, 2, 8, true, false);
  in.x.select(0, 1).fill_(std::numeric_limits<float>::quiet_NaN());
  in.x.select(0, 2).fill_(1e30F);
  in.x.select(0, 3).fill_(-std::numeric_limits<float>::infinity());
  const at::Tensor y = std::get<0>(*lstm_node(in)), wanted = std::get<0>(reference(wide(in)));
  CHECK(y.isnan().equal(wanted.isnan()));
  CHECK(y.isnan().select(0, 1).all().item<bool>());
  CHECK(apart(y.nan_to_num(), wanted.nan_to_num()) < 1e-6);
}

TEST_CASE("what the kernel cannot compute is left to ATen") {
  CHECK_FALSE(lstm_node(wide(layer(2, 3, 4, 5, true, false))));
  LstmInputs half = layer(2, 3, 4, 5, true, false);
  half.weight_hh = half.weight_hh.to(at::kBFloat16);
  CHECK_FALSE(lstm_node(half));
}

}  // namespace ltr
