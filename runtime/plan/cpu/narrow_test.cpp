// Plans whose products are in bf16: of numbers that bf16 has they give what the reference gives of floats, up to the order of sums. So it
// is for all sizes of tiles, panels and pairs, whole or not.

#undef LTR_RUNTIME  // Functions as programs call them.

#include <doctest/doctest.h>

#include "ltr/operators.h"
#include "ltr/ops.h"
#include "runtime/plan/cpu/cpu_plan.h"
#include "runtime/plan/recorder.h"
#include "runtime/tensor/mode.h"
#include "runtime/tensor/random.h"

namespace ltr::plan {

namespace {

/// That bf16 has.
Tensor drawn_narrow(const Ints& sizes, uint64_t seed) {
  at::Generator generator = at::globalContext().defaultGenerator(at::kCPU).clone();
  generator.set_current_seed(seed);
  return give((at::rand(sizes, generator) * 2 - 1).to(at::kBFloat16).to(at::kFloat));
}

/// How far plans of one to three threads, which give the same bits, are from the reference: relative to the largest element.
double difference(const std::vector<Ints>& sizes, const std::function<Tensors(const Tensors&)>& step) {
  const ModeScope mode(true, false);
  Tensors inputs;
  for (size_t i = 0; i < sizes.size(); ++i) inputs.push_back(drawn_narrow(sizes[i], i + 1));
  Recorder recorder;
  std::vector<ValueId> ids, results;
  std::vector<at::Tensor> wanted;
  for (const Tensor& input : inputs) ids.push_back(recorder.input(input, "x"));
  for (const Tensor& result : step(inputs)) {
    results.push_back(recorder.id_of(result));
    wanted.push_back(aten(result));
  }
  const Graph graph = recorder.graph();
  const auto constants = recorder.constants();
  double most = 0;
  std::vector<at::Tensor> first;
  for (const auto& [samples, threads] :
       {std::pair<int64_t, int>(sizes[0][0], 1), {sizes[0][0], 2}, {sizes[0][0], 3}, {1, 1}}) {
    CAPTURE(samples);
    CAPTURE(threads);
    CpuPlan plan(graph, constants, {{0, graph.nodes.size(), results}}, samples, threads, std::make_shared<Arena>(), {},
                 true);
    CAPTURE(plan.text());
    CHECK(plan.text().find("LibTorch") == Str::npos);
    CHECK(plan.text().find(" in bf16") != Str::npos);
    plan.begin(0);
    for (size_t i = 0; i < ids.size(); ++i) plan.set(ids[i], inputs[i]);
    REQUIRE(plan.run(0));
    for (size_t i = 0; i < results.size(); ++i) {
      const at::Tensor found = plan.view(results[i]);
      most = std::max(most, ((found - wanted[i]).abs().max() / wanted[i].abs().max()).item<double>());
      if (threads == 1 && samples != 1) first.push_back(found.clone());
      if (samples != 1) CHECK(at::equal(first[i], found));
    }
    plan.end();
  }
  return most;
}

}  // namespace

TEST_CASE("products in bf16 of numbers that it has are those of floats, whatever fills no pair, tile or panel") {
  const auto products = [](int64_t rows, int64_t depth, int64_t columns) {
    CAPTURE(fmt::format("{} x {} x {}", rows, depth, columns));
    CHECK(difference({{rows, depth}, {columns, depth}, {columns}, {rows, columns}}, [](const Tensors& x) {
            return Tensors{linear(x[0], x[1], x[2]), matmul(x[3], x[1]), matmul(transpose(x[3], 0, 1), x[0])};
          }) <= 1e-5);
  };
  for (const int64_t rows : {1, 5, 12, 13, 64}) {
    for (const int64_t depth : {1, 2, 7, 33, 130}) {
      for (const int64_t columns : {1, 15, 16, 33, 100}) products(rows, depth, columns);
    }
  }
  products(250, 601, 300);
  products(300, 1101, 40);
  CHECK(difference({{6, 3, 17, 21}, {6, 3, 21, 33}, {6, 3, 33, 17}, {6, 3, 5, 1100}}, [](const Tensors& x) {
          return Tensors{matmul(x[0], x[1]), matmul(transpose(x[2], -2, -1), x[2]), matmul(x[0], transpose(x[0], 2, 3)),
                         matmul(x[3], transpose(x[3], 2, 3))};
        }) <= 1e-5);
}

TEST_CASE("convolutions in bf16 of numbers that it has are those of floats, unless these are turned first") {
  struct One {
    Ints x, weight, stride, padding, dilation;
    int64_t groups;
  };
  for (const One& one : {One{{5, 3, 11, 13}, {7, 3, 5, 3}, {1, 1}, {0, 0}, {1, 1}, 1},
                         One{{5, 4, 12, 9}, {6, 2, 3, 3}, {2, 2}, {1, 1}, {1, 1}, 2},
                         One{{3, 3, 15, 40}, {33, 3, 3, 3}, {1, 1}, {2, 2}, {2, 1}, 1},
                         One{{4, 40, 7, 7}, {50, 40, 1, 1}, {1, 1}, {0, 0}, {1, 1}, 1},
                         One{{48, 70, 3, 3}, {65, 70, 3, 3}, {1, 1}, {1, 1}, {1, 1}, 1}}) {
    const auto padding = [&] { return Ints{one.padding[0], one.padding[0], one.padding[1], one.padding[1]}; };
    CHECK(difference({one.x, one.weight, {one.weight[0]}}, [&](const Tensors& x) {
            const Tensor y = conv2d(x[0], x[1], x[2], one.stride, padding(), one.dilation, one.groups);
            return Tensors{y};
          }) <= 1e-5);
  }
  CHECK(difference({{9, 2, 9, 3}, {2, 3, 5, 4}}, [](const Tensors& x) {
          return Tensors{conv_transpose2d(x[0], x[1], {}, {2, 2}, {0, 0}, {0, 0}, 1, {1, 1})};
        }) <= 1e-5);
  for (const int64_t channels : {16, 17, 40}) {
    CHECK(difference({{5, channels, 12, 19}, {channels + 3, channels, 3, 3}}, [&](const Tensors& x) {
            return Tensors{conv2d(x[0], x[1], {}, {1, 1}, {1, 1, 1, 1}, {1, 1}, 1)};
          }) <= 1e-2);
  }
}

TEST_CASE("attention and recurrent layers in bf16 are near those of floats") {
  for (const int64_t places : {1, 13, 70}) {
    CHECK(difference({{6, 2, places, 23}, {6, 2, places, 23}, {6, 2, places, 40}}, [](const Tensors& x) {
            return Tensors{attention(x[0], x[1], x[2], {}, false, 0.0, {}),
                           attention(x[0], x[1], x[2], {}, true, 0.0, {})};
          }) <= 1e-2);
  }
  CHECK(difference({{14, 5, 9}, {14, 37}, {14, 37}, {148, 9}, {148, 37}, {148}, {148}}, [](const Tensors& x) {
          const auto [y, h, c] = lstm(x[0], x[1], x[2], x[3], x[4], x[5], x[6], false);
          return Tensors{y, h, c};
        }) <= 1e-2);
}

}  // namespace ltr::plan
