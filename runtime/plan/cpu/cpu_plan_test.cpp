// Plans for CPUs against the reference, in sizes that fill tiles, runs and panels, and that do not.

#undef LTR_RUNTIME  // Functions as programs call them.

#include "runtime/plan/cpu/cpu_plan.h"

#include <doctest/doctest.h>

#include "ltr/operators.h"
#include "ltr/ops.h"
#include "runtime/plan/cpu/place.h"
#include "runtime/plan/recorder.h"
#include "runtime/tensor/mode.h"
#include "runtime/tensor/random.h"

namespace ltr::plan {

namespace {

Tensor drawn(const Ints& sizes, uint64_t seed) {
  at::Generator generator = at::globalContext().defaultGenerator(at::kCPU).clone();
  generator.set_current_seed(seed);
  return give(at::rand(sizes, generator) * 2 - 1);
}

/// What a step gives of tensors of these sizes, recorded; sizes of all values are known.
struct Recorded {
  Tensors inputs;
  std::vector<ValueId> ids, results;
  Graph graph;
  std::unordered_map<ValueId, Tensor> constants;
  std::vector<at::Tensor> wanted;
};

Recorded recorded(const std::vector<Ints>& sizes, const std::function<Tensors(const Tensors&)>& step, uint64_t key) {
  Recorded of;
  for (size_t i = 0; i < sizes.size(); ++i) of.inputs.push_back(drawn(sizes[i], i + 1));
  seed_random(key);
  Recorder recorder;
  for (const Tensor& input : of.inputs) of.ids.push_back(recorder.input(input, "x"));
  for (const Tensor& result : step(of.inputs)) {
    of.results.push_back(recorder.id_of(result));
    of.wanted.push_back(aten(result));
  }
  of.graph = recorder.graph();
  of.constants = recorder.constants();
  return of;
}

/// The largest difference, relative to 1 and more; what a plan of `threads` gives is the same in each run.
double difference(const Recorded& of, int64_t samples, int threads, uint64_t key) {
  CpuPlan plan(of.graph, of.constants, {{0, of.graph.nodes.size(), of.results}}, samples, threads);
  CAPTURE(plan.text());
  double most = 0;
  std::vector<at::Tensor> before;
  for (int round = 0; round < 3; ++round) {
    plan.begin(key);
    for (size_t i = 0; i < of.ids.size(); ++i) plan.set(of.ids[i], of.inputs[i]);
    REQUIRE(plan.run(0));
    for (size_t i = 0; i < of.results.size(); ++i) {
      const at::Tensor found = plan.view(of.results[i]);
      most = std::max(most, ((found - of.wanted[i]).abs() / (1 + of.wanted[i].abs())).max().item<double>());
      if (round == 0)
        before.push_back(found.clone());
      else
        CHECK(at::equal(before[i], found));
    }
    plan.end();
  }
  return most;
}

void compare(const Str& title, const std::vector<Ints>& sizes, const std::function<Tensors(const Tensors&)>& step) {
  CAPTURE(title);
  const ModeScope mode(true, false);
  const uint64_t key = random_key(7, "plan", {});
  const Recorded of = recorded(sizes, step, key);
  for (const auto& [samples, threads] :
       {std::pair<int64_t, int>(1, 1), {sizes[0][0], 1}, {sizes[0][0], 2}, {sizes[0][0], 3}}) {
    CAPTURE(samples);
    CAPTURE(threads);
    CHECK(difference(of, samples, threads, key) <= 1e-5);
  }
}

}  // namespace

TEST_CASE("products of any sizes are the reference's") {
  const auto products = [](int64_t rows, int64_t depth, int64_t columns) {
    compare(fmt::format("{} x {} x {}", rows, depth, columns),
            {{rows, depth}, {columns, depth}, {columns}, {rows, columns}}, [](const Tensors& x) {
              return Tensors{linear(x[0], x[1], x[2]), matmul(x[3], x[1]), matmul(transpose(x[3], 0, 1), x[0])};
            });
  };
  for (const int64_t rows : {1, 5, 12, 13, 64}) {
    for (const int64_t depth : {1, 7, 130}) {
      for (const int64_t columns : {1, 15, 16, 33, 100}) products(rows, depth, columns);
    }
  }
  products(250, 600, 300);  // several blocks each way
  compare("batches", {{6, 3, 17, 20}, {6, 3, 20, 33}, {6, 3, 33, 17}}, [](const Tensors& x) {
    return Tensors{matmul(x[0], x[1]), matmul(transpose(x[2], -2, -1), x[2]), matmul(x[0], transpose(x[0], 2, 3))};
  });
}

TEST_CASE("functions of elements join, over runs, rows and what stretches") {
  compare("long", {{7, 1000}, {7, 1000}}, [](const Tensors& x) {
    const Tensor sum = add(mul(x[0], x[1]), Scalar(0.5));
    return Tensors{relu(sum), where(gt(sum, Scalar(0.0)), x[0], Scalar(2.0))};
  });
  compare("rows", {{6, 5, 33}, {33}, {5, 1}, {6, 1, 1}}, [](const Tensors& x) {
    return Tensors{add(add(mul(x[0], x[1]), x[2]), x[3]), sub(transpose(x[0], 1, 2), Scalar(1.0))};
  });
  compare("parts", {{6, 9, 40}}, [](const Tensors& x) {
    const Tensors parts = chunk(x[0], 2, 2);
    return Tensors{mul(parts[0], parts[1]), reshape(transpose(select(x[0], 1, 3), 0, 1), {240}),
                   cat({parts[1], parts[0], parts[0]}, 1), stack({parts[0], parts[1]}, -1)};
  });
  compare("dropped", {{9, 77}}, [](const Tensors& x) {
    return Tensors{dropout(mul(x[0], Scalar(2.0)), 0.3), dropout(transpose(x[0], 0, 1), 0.5)};
  });
}

TEST_CASE("sums, rows and attention are the reference's") {
  compare("sums", {{6, 70, 90}}, [](const Tensors& x) {
    return Tensors{sum(x[0], {}, false), mean(x[0], 0, false), mean(x[0], -1, true),
                   sum(x[0], {}, true),  softmax(x[0], 2),     log_softmax(x[0], -1)};
  });
  compare("attention", {{6, 2, 70, 24}, {6, 2, 70, 24}, {6, 2, 70, 40}}, [](const Tensors& x) {
    return Tensors{attention(x[0], x[1], x[2], {}, true, 0, {}), attention(x[0], x[1], x[2], {}, false, 0.2, {})};
  });
}

TEST_CASE("a target that is no class is told") {
  const Tensor target = give(at::tensor(std::vector<int64_t>{0, 5, 1}, at::kLong));
  const Tensor logits = drawn({3, 4}, 1), right = give(at::tensor(std::vector<int64_t>{0, 3, 1}, at::kLong));
  Recorder recorder;
  const ValueId of_logits = recorder.input(logits, "logits"), of_target = recorder.input(right, "target");
  const Tensor loss = cross_entropy(logits, right, {}, {}, 0, "mean");
  const Graph graph = recorder.graph();
  CpuPlan plan(graph, {}, {{0, graph.nodes.size(), {recorder.id_of(loss)}}}, 3, 2);
  for (const Tensor& one : {right, target}) {
    plan.begin(0);
    plan.set(of_logits, logits);
    plan.set(of_target, one);
    CHECK(plan.run(0) == (one.impl() == right.impl()));
    plan.end();
  }
}

TEST_CASE("what is needed at one time does not overlap") {
  std::vector<Lifetime> lifetimes;
  uint64_t state = 1;
  for (int i = 0; i < 300; ++i) {
    state = state * 6364136223846793005ULL + 1442695040888963407ULL;
    const auto first = size_t(state >> 40) % 50;
    lifetimes.push_back({int64_t(state >> 33) % 1000 + 1, first, first + size_t(state >> 20) % 7});
  }
  const Placement placement = place(lifetimes);
  int64_t all = 0;
  for (size_t i = 0; i < lifetimes.size(); ++i) {
    all += lifetimes[i].bytes;
    CHECK(placement.offsets[i] % 64 == 0);
    CHECK(placement.offsets[i] + lifetimes[i].bytes <= placement.bytes);
    for (size_t j = 0; j < i; ++j) {
      if (lifetimes[i].last < lifetimes[j].first || lifetimes[j].last < lifetimes[i].first) continue;
      CHECK((placement.offsets[i] + lifetimes[i].bytes <= placement.offsets[j] ||
             placement.offsets[j] + lifetimes[j].bytes <= placement.offsets[i]));
    }
  }
  CHECK(placement.bytes < all / 3);
}

}  // namespace ltr::plan
