#include "runtime/optim/elements.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <doctest/doctest.h>

#include <cmath>
#include <limits>

using namespace ltr;
using namespace ltr::optim;

namespace {

/// Sizes around the blocks and shares of threads.
TensorVec random_tensors() {
  at::manual_seed(1);
  TensorVec list;
  for (const int64_t count : {1, 63, 64, 4095, 4097, 50'000, 131'072}) list.push_back(at::randn({count}));
  return list;
}

}  // namespace

TEST_CASE("the norm of many gradients is the same for any number of threads") {
  if (element_kernels() == nullptr) return;
  const TensorVec list = random_tensors();
  double squares = 0;
  for (const at::Tensor& tensor : list) squares += tensor.to(at::kDouble).square().sum().item<double>();
  const int threads = at::get_num_threads();
  at::set_num_threads(1);
  const double alone = *norm_by_kernel(list);
  CHECK(alone == doctest::Approx(std::sqrt(squares)).epsilon(1e-6));
  for (const int count : {2, 3}) {
    at::set_num_threads(count);
    CHECK(*norm_by_kernel(list) == alone);
  }
  at::set_num_threads(threads);
  CHECK(*norm_by_kernel({}) == 0);
  CHECK(std::isnan(*norm_by_kernel({at::full({100}, NAN)})));
  CHECK_FALSE(norm_by_kernel({list[0], list[1].to(at::kDouble)}));
  CHECK_FALSE(norm_by_kernel({at::ones({4, 4}).t().slice(0, 0, 2)}));
}

TEST_CASE("gradients are scaled in place, all or none") {
  if (element_kernels() == nullptr) return;
  const TensorVec list = random_tensors();
  TensorVec wanted;
  for (const at::Tensor& tensor : list) wanted.push_back(tensor * 0.3F);
  const auto version = list[0]._version();
  CHECK(scale_by_kernel(list, 0.3F));
  for (size_t i = 0; i < list.size(); i++) CHECK(at::equal(list[i], wanted[i]));
  CHECK(list[0]._version() > version);
  CHECK_FALSE(scale_by_kernel({list[0], at::ones({2}, at::kDouble)}, 2));
  CHECK(at::equal(list[0], wanted[0]));
}

TEST_CASE("square roots are LibTorch's to the last digit") {
  at::manual_seed(1);
  for (const int64_t count : {1, 7, 16, 4095, 4096}) {
    const at::Tensor given =
        at::cat({at::rand({count}) * 1e-6, at::tensor({0.0F, 1e-42F, 1e-38F, INFINITY, NAN}), at::rand({count}) * 1e6});
    const at::Tensor wanted = given.sqrt();
    square_roots(given.data_ptr<float>(), given.numel());
    CHECK(at::equal(given.view(at::kInt), wanted.view(at::kInt)));
  }
}

TEST_CASE("what a kernel moves is, to the last digit, what LibTorch's ops make of it") {
  if (element_kernels() == nullptr) return;
  const auto flag = [](const char* name) { return Argument{name, true, "bool", {}}; };
  const auto number = [](const char* name, double value) { return Argument{name, value, "float", {}}; };
  const std::vector<std::pair<const char*, std::vector<Argument>>> rules = {
      {"RMSprop", {}},
      {"RMSprop", {number("momentum", 0.9), flag("centered"), number("weight_decay", 0.01)}},
      {"Adagrad", {number("lr_decay", 0.1), number("weight_decay", 0.01)}},
      {"NAdam", {}},
      {"NAdam", {number("weight_decay", 0.1), flag("decoupled")}},
      {"RAdam", {}},
      {"RAdam", {number("weight_decay", 0.1), flag("maximize")}},
      {"RAdam", {number("weight_decay", 0.1), flag("decoupled")}},
  };
  for (const auto& [name, arguments] : rules) {
    CAPTURE(Str(name));
    constexpr int64_t kCount = 70'001;
    at::manual_seed(3);
    const at::Tensor begin = at::randn({kCount}), all = at::randn({20, kCount}) * at::randn({kCount}).exp();
    std::vector<at::Tensor> ends;
    for (const bool is_plain : {true, false}) {
      const auto rule = make_rule(Value::call(name, std::vector<Argument>(arguments)), {});
      // Every second number is none in one piece, and no kernel takes it.
      const auto laid = [&](const at::Tensor& from) {
        if (is_plain) return from.clone();
        at::Tensor wide = at::zeros({kCount, 2});
        wide.select(1, 0).copy_(from);
        return wide.select(1, 0);
      };
      TensorVec weights{laid(begin)}, grads{begin}, steps{at::zeros({})};
      std::vector<TensorVec> state;
      for (const char* kind : rule->state_names()) {
        const at::Tensor first = rule->initial_state(kind, begin);
        state.push_back({first.sizes() == begin.sizes() ? laid(first) : first});
      }
      for (int64_t step = 0; step < 20; ++step) {
        steps[0].add_(1);
        grads[0] = laid(all[step]);
        rule->update({weights, grads, state, steps, 0.01, {}});
      }
      ends.push_back(weights[0].contiguous());
    }
    CHECK(at::equal(ends[0].view(at::kInt), ends[1].view(at::kInt)));
  }
}

TEST_CASE(
    "what goes by the norm of a weight is by kernels what LibTorch's ops make of it, and the same for any number of "
    "threads") {
  if (element_kernels() == nullptr) return;
  const auto number = [](const char* name, double value) { return Argument{name, value, "float", {}}; };
  const std::vector<std::pair<const char*, std::vector<Argument>>> rules = {
      {"Lamb", {}},      {"Lamb", {number("weight_decay", 0)}},
      {"Lars", {}},      {"Lars", {number("weight_decay", 0.1), number("momentum", 0.5)}},
      {"Adafactor", {}}, {"Adafactor", {number("weight_decay", 0.1), {"maximize", true, "bool", {}}}},
  };
  const int threads = at::get_num_threads();
  for (const auto& [name, arguments] : rules) {
    for (const at::IntArrayRef sizes : {at::IntArrayRef{70'001}, {300, 700}, {40, 9, 3, 5}, {1'300, 1}, {}}) {
      CAPTURE(Str(name));
      CAPTURE(sizes.vec());
      at::manual_seed(3);
      const at::Tensor begin = at::randn(sizes), spread = at::randn(sizes).exp();
      std::vector<at::Tensor> ends;
      // Every second number is none in one piece, and no kernel takes it; the last one is LibTorch's in f64.
      for (const int of_threads : {1, 3, 0, -1}) {
        const auto laid = [&](const at::Tensor& from) {
          if (of_threads > 0) return from.clone();
          if (of_threads < 0) return from.to(at::kDouble);
          at::Tensor wide = at::zeros(from.sizes(), from.options()).unsqueeze(-1).repeat_interleave(2, -1);
          wide.select(-1, 0).copy_(from);
          return wide.select(-1, 0);
        };
        at::set_num_threads(of_threads > 0 ? of_threads : threads);
        const auto rule = make_rule(Value::call(name, std::vector<Argument>(arguments)), {});
        TensorVec weights{laid(begin)}, grads{begin}, steps{at::zeros({})};
        std::vector<TensorVec> state;
        for (const char* kind : rule->state_names())
          state.push_back({rule->initial_state(kind, begin.to(weights[0].scalar_type()))});
        at::manual_seed(4);
        for (int64_t step = 0; step < 100; ++step) {
          steps[0].add_(1);
          grads[0] = laid(at::randn(sizes) * spread);
          rule->update({weights, grads, state, steps, 0.01, {}});
        }
        ends.push_back(weights[0].contiguous());
      }
      at::set_num_threads(threads);
      CHECK(at::equal(ends[0], ends[1]));
      const auto error = [&](size_t end) { return (ends[end] - ends[3]).abs().max().item<double>(); };
      CHECK(error(0) < 2 * error(2) + 1e-6 * ends[3].abs().max().item<double>());
      CHECK((ends[0] - begin).abs().max().item<double>() > 1e-3);
    }
  }
}

TEST_CASE("Adam moves weights whose moments are no normal numbers any more as all others") {
  // Both moments through all sizes, and those of weights that no gradient comes to any more.
  const at::Tensor means = at::tensor({0.0F, -0.0F, 1e-45F, -3e-42F, 1e-38F, 2e-38F, -1e-30F, 1e-5F, -0.5F, 1e31F});
  const at::Tensor squares = at::tensor(
      {0.0F, 1e-45F, 3e-42F, 1e-38F, 2e-38F, 1e-31F, 1e-30F, 1e-12F, 0.3F, std::numeric_limits<float>::infinity()});
  for (const float start : {0.0F, 0.7F, -1e-3F}) {
    const at::Tensor mean = means.repeat_interleave(10), square = squares.repeat(10), weight = at::full({100}, start),
                     grad = at::zeros({100});
    const at::Tensor b1 = mean.lerp(grad, 0.1F), b2 = square * 0.999F;
    const at::Tensor wanted = weight + b1 * -1e-3F / (b2.sqrt() / 0.5F + 1e-8F);
    Elements e{.weight = weight.data_ptr<float>(), .grad = grad.data_ptr<float>(), .count = 100};
    e.state[0] = mean.data_ptr<float>();
    e.state[1] = square.data_ptr<float>();
    element_kernels()->adam(e, {}, {0.1F, 0.999F, 0.001F, 1e-3F, 0.5F, 1e-8F});
    CHECK(at::equal(mean, b1));
    CHECK(at::equal(square, b2));
    if (start != 0) CHECK(at::equal(weight.view(at::kInt), wanted.view(at::kInt)));
    CHECK(at::allclose(weight, wanted, 1e-6, 1e-36));  // what LibTorch rounds to nothing is as much as it is
  }
}

TEST_CASE("rows of a table that alone have gradients move as they do where all others have a gradient of 0") {
  at::manual_seed(5);
  constexpr int64_t kRows = 500, kUsed = 60;
  const at::Tensor begin = at::randn({kRows, 13});
  for (const char* name : {"SGD", "Adagrad"}) {
    CAPTURE(Str(name));
    std::vector<at::Tensor> ends;
    for (const bool is_sparse : {true, false}) {
      const auto rule = make_rule(Value::call(name, {}), {});
      TensorVec weights{begin.clone()}, grads{begin}, steps{at::zeros({})};
      std::vector<TensorVec> state;
      for (const char* kind : rule->state_names()) state.push_back({rule->initial_state(kind, begin)});
      at::manual_seed(6);
      for (int64_t step = 0; step < 5; ++step) {
        steps[0].add_(1);
        const at::Tensor rows = at::randperm(kRows).narrow(0, 0, kUsed).contiguous();
        const at::Tensor sparse = at::_sparse_coo_tensor_unsafe(rows.unsqueeze(0), at::randn({kUsed, 13}), {kRows, 13},
                                                                begin.options().layout(at::kSparse), true);
        grads[0] = is_sparse ? sparse : sparse.to_dense();
        rule->update({weights, grads, state, steps, 0.01, {}});
      }
      ends.push_back(weights[0]);
    }
    CHECK(at::equal(ends[0].view(at::kInt), ends[1].view(at::kInt)));
    CHECK_FALSE(at::equal(ends[0], begin));
  }
}
