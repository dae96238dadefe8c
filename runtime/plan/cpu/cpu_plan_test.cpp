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

TEST_CASE("what is drawn has the bits of the other back end, for any number of threads") {
  const ModeScope mode(true, false);
  const uint64_t key = random_key(7, "plan", {});
  const Recorded of = recorded(
      {{6, 5, 3, 7}, {6, 40}},
      [](const Tensors& x) {
        const Tensor chance = abs(x[1]);
        return Tensors{rand({6, 33}),
                       randn({6, 33}),
                       randn({1}),
                       uniform({100}, -2, 3),
                       normal({6, 70}, 1, 2),
                       randint(-5, 1000, {6, 7}),
                       randperm(150),
                       bernoulli(chance),
                       sample(chance),
                       dropout2d(x[0], 0.4),
                       sample(select(chance, 0, 2))};
      },
      key);
  for (const auto& [samples, threads] : {std::pair<int64_t, int>(1, 1), {6, 1}, {6, 2}, {6, 3}}) {
    CAPTURE(threads);
    CHECK(difference(of, samples, threads, key) == 0);
    CpuPlan plan(of.graph, of.constants, {{0, of.graph.nodes.size(), of.results}}, samples, threads);
    CHECK(plan.text().find("LibTorch") == Str::npos);
  }
}

TEST_CASE("what has no distribution is told") {
  const ModeScope mode(true, false);
  for (const bool is_sample : {false, true}) {
    const Tensor well = give(at::full({2, 3}, 0.5F));
    Recorder recorder;
    seed_random(1);
    const ValueId of_chance = recorder.input(well, "p");
    const Tensor found = is_sample ? sample(well) : bernoulli(well);
    const Graph graph = recorder.graph();
    CpuPlan plan(graph, {}, {{0, graph.nodes.size(), {recorder.id_of(found)}}}, 2, 2);
    for (const float value : {0.5F, -0.5F}) {
      plan.begin(0);
      plan.set(of_chance, give(at::full({2, 3}, value)));
      CHECK(plan.run(0) == (value > 0));
      plan.end();
    }
  }
}

TEST_CASE("orders, whole numbers and conditions are the reference's") {
  const auto whole = [](const at::Tensor& numbers) { return give(numbers.to(at::kLong)); };
  const Tensor ids = whole(at::arange(6 * 9).mul(7).remainder(11).reshape({6, 9})), few = whole(at::arange(9));
  compare("orders", {{6, 9, 5}, {6, 300}}, [=](const Tensors& x) {
    const Tensor ties = round(mul(x[0], Scalar(3.0)));
    Tensors found;
    for (const int64_t dim : {0, 1, -1}) {
      for (const auto& [values, places] : {sort(ties, dim, true), sort(ties, dim, false), topk(ties, 3, dim)}) {
        found.push_back(values);
        found.push_back(to(places, DType::F32));
      }
    }
    found.push_back(std::get<0>(topk(x[1], 2, 1)));
    return found;
  });
  compare("whole numbers", {{6, 9}}, [=](const Tensors& x) {
    const Tensor sums = add(ids, mul(few, Scalar(int64_t(3)))), is_large = gt(sums, sub(Scalar(int64_t(20)), ids));
    return Tensors{to(is_large, DType::F32),
                   to(sums, DType::F32),
                   to(any(is_large, 1, false), DType::F32),
                   to(all(gt(x[0], Scalar(-0.9)), 0, true), DType::F32),
                   to(any(ne(ids, few), {}, false), DType::F32),
                   where(eq(ids, few), x[0], Scalar(2.0)),
                   to(isfinite(log(x[0])), DType::F32),
                   to(isnan_(log(x[0])), DType::F32)};
  });
  compare("counts", {{6, 9}}, [=](const Tensors& x) {
    const Tensor guesses = argmax(x[0], 1, false), labels = whole(at::arange(6).mul(5).remainder(8)),
                 counts = counted(labels, 7, 9, "label");
    return Tensors{to(counts, DType::F32), to(class_counts(labels, counts, 9), DType::F32),
                   to(confusion_counts(guesses, labels, counts, 9), DType::F32)};
  });
  compare("forms", {{6, 8, 5, 5}, {4, 4}}, [](const Tensors& x) {
    return Tensors{add(eye(4), x[1]),      linspace(-1, 2, 7),       alibi(3, 6),
                   tril(x[0], 1),          triu(x[0], -2),           repeat(x[1], {2, 1, 3}),
                   pixel_shuffle(x[0], 2), diagonal(x[0], -1, 2, 3), diagonal(x[1], 1, 0, 1)};
  });
  compare("along axes", {{6, 8, 5}}, [](const Tensors& x) {
    Tensors found{softmax(x[0], 1), log_softmax(x[0], 0)};
    for (const Option<int64_t> dim : {Option<int64_t>(), Option<int64_t>(0), Option<int64_t>(1), Option<int64_t>(2)}) {
      found.push_back(logsumexp(x[0], dim, false));
      found.push_back(prod(x[0], dim, true));
      for (const double p : {1.0, 2.0, double(INFINITY)}) found.push_back(norm(x[0], p, dim, false));
    }
    return found;
  });
}

TEST_CASE("pools are the reference's, with borders, equal ones and what is no number") {
  const auto spoiled = [](const Tensor& x) {
    const Tensor bad = div(sub(x, x), sub(x, x));  // not a number here and there
    return where(gt(x, Scalar(0.9)), bad, mul(x, gt(x, Scalar(0.3))));
  };
  for (const int64_t width : {3, 12, 26, 67}) {
    compare(fmt::format("planes {} wide", width), {{6, 3, 13, width}}, [&](const Tensors& x) {
      return Tensors{max_pool2d(x[0], {2, 2}, {2, 2}, {0, 0}, {1, 1}, false),
                     max_pool2d(x[0], {3, 3}, {1, 2}, {1, 1}, {1, 1}, false),
                     avg_pool2d(x[0], {3, 2}, {2, 1}, {1, 1}, true, false), adaptive_avg_pool2d(x[0], {4, 2}),
                     max_pool2d(mul(x[0], gt(x[0], Scalar(0.3))), {2, 2}, {2, 2}, {0, 0}, {1, 1}, false)};
    });
    const ModeScope mode(true, false);
    const uint64_t key = random_key(7, "plan", {});
    Recorded of = recorded(
        {{6, 3, 13, width}},
        [&](const Tensors& x) {
          const Tensor holes = spoiled(x[0]);
          const auto counted = [](const Tensor& y) { return where(ne(y, y), Scalar(3.0), y); };
          return Tensors{counted(max_pool2d(holes, {2, 2}, {2, 2}, {0, 0}, {1, 1}, false)),
                         counted(max_pool2d(holes, {3, 2}, {2, 2}, {1, 0}, {1, 1}, false)),
                         counted(max_pool1d(select(holes, 1, 1), 3, 2, 1, 1, false))};
        },
        key);
    CHECK(of.wanted[1].max().item<double>() == 3);
    CHECK(difference(of, 6, 2, key) == 0);
  }
  for (const int64_t width : {4, 7, 27, 68}) {
    compare(fmt::format("windows beyond the end of {}, and gaps", width), {{6, 3, 14, width}}, [&](const Tensors& x) {
      return Tensors{max_pool2d(x[0], {2, 2}, {2, 2}, {0, 0}, {1, 1}, true),
                     max_pool2d(x[0], {3, 2}, {3, 2}, {1, 1}, {1, 1}, true),
                     max_pool2d(x[0], {2, 2}, {1, 2}, {1, 0}, {2, 3}, false),
                     avg_pool2d(x[0], {3, 2}, {3, 3}, {1, 1}, true, true),
                     avg_pool2d(x[0], {3, 2}, {3, 3}, {1, 1}, false, true),
                     avg_pool2d(x[0], {3, 3}, {2, 2}, {1, 1}, false, false)};
    });
  }
  compare("lines", {{6, 5, 31}}, [](const Tensors& x) {
    return Tensors{max_pool1d(x[0], 2, 2, 0, 1, false), max_pool1d(x[0], 5, 2, 2, 1, false),
                   avg_pool1d(x[0], 4, 1, 2, true, false), adaptive_avg_pool1d(x[0], 1), adaptive_avg_pool1d(x[0], 7)};
  });
}

TEST_CASE("norms of channels are the reference's, and what batch norm keeps from batch to batch") {
  for (const Ints& sizes : {Ints{6, 40}, Ints{6, 5, 31}, Ints{6, 4, 13, 20}, Ints{3, 4, 70, 65}}) {
    const Ints channels{sizes[1]};
    compare("groups", {sizes, channels, channels}, [&](const Tensors& x) {
      return Tensors{group_norm(x[0], sizes[1], x[1], x[2], 1e-5), group_norm(x[0], 1, x[1], x[2], 1e-5),
                     group_norm(x[0], 1, {}, {}, 1e-5), rms_norm(x[0], {}, {}),
                     rms_norm(transpose(x[0], 0, 1), {}, 1e-3)};
    });
    for (const bool trains : {true, false}) {
      const ModeScope mode(trains, false);
      const Tensor x = drawn(sizes, 1), weight = drawn(channels, 2), bias = drawn(channels, 3);
      const Tensor mean = drawn(channels, 4), var = give(aten(drawn(channels, 5)).square()),
                   seen = give(at::zeros({}, at::kLong));
      const at::Tensor first_mean = aten(mean).clone(), first_var = aten(var).clone();
      const auto reset = [&] {
        In(mean)->copy_(first_mean);
        In(var)->copy_(first_var);
        In(seen)->zero_();
      };
      Recorder recorder;
      const ValueId of_x = recorder.input(x, "x");
      for (const Tensor& kept : {weight, bias, mean, var, seen}) recorder.weight(kept, "kept");
      // The second one reads what the first one leaves, and the sum what was there before and is there behind.
      const Tensor before = add(mean, Scalar(1.0));
      const Tensor y = batch_norm(x, weight, bias, mean, var, seen, 0.3, 1e-5);
      const Tensor z = batch_norm(add(y, Scalar(1.0)), weight, bias, mean, var, seen, 0.3, 1e-5);
      const Tensor behind = mul(mean, before);
      const Tensors results{y, z, behind};
      std::vector<at::Tensor> wanted;
      for (const Tensor& result : results) wanted.push_back(aten(result).clone());
      const at::Tensor last_mean = aten(mean).clone(), last_var = aten(var).clone(), last_seen = aten(seen).clone();
      std::vector<ValueId> ids;
      for (const Tensor& result : results) ids.push_back(recorder.id_of(result));
      const Recording taken = recorder.take();
      for (const int threads : {1, 2, 3}) {
        reset();
        CpuPlan plan(taken.graph, taken.kept, {{0, taken.graph.nodes.size(), ids}}, sizes[0], threads);
        CAPTURE(plan.text());
        CHECK(plan.text().find("LibTorch") == Str::npos);
        plan.begin(0);
        plan.set(of_x, x);
        REQUIRE(plan.run(0));
        for (size_t i = 0; i < ids.size(); ++i) CHECK(at::allclose(plan.view(ids[i]), wanted[i], 1e-5, 1e-5));
        CHECK(at::allclose(aten(mean), last_mean, 1e-5, 1e-6));
        CHECK(at::allclose(aten(var), last_var, 1e-5, 1e-6));
        CHECK(at::equal(aten(seen), last_seen));
        plan.end();
      }
    }
  }
}

TEST_CASE("recurrent layers are the reference's") {
  for (const int64_t hidden : {1, 8, 37, 70}) {
    const std::vector<Ints> sizes{{14, 5, 9},           {14, hidden}, {14, hidden}, {4 * hidden, 9},
                                  {4 * hidden, hidden}, {4 * hidden}, {4 * hidden}, {3 * hidden, 9},
                                  {3 * hidden, hidden}, {3 * hidden}, {3 * hidden}};
    for (const bool reverse : {false, true}) {
      compare(fmt::format("{} units", hidden), sizes, [=](const Tensors& x) {
        const auto [y, h, c] = lstm(x[0], x[1], x[2], x[3], x[4], x[5], x[6], reverse);
        const auto [z, last] = gru(x[0], x[1], x[7], x[8], x[9], x[10], reverse);
        return Tensors{y, h, c, z, last, std::get<0>(gru(z, last, x[8], x[8], {}, {}, reverse))};
      });
    }
  }
}

TEST_CASE("reductions along any axes are the reference's") {
  using Dim = Option<int64_t>;
  for (const Ints& sizes : {Ints{6, 5, 37}, Ints{6, 70, 3}, Ints{6, 1, 200}}) {
    compare(fmt::format("along axes of {}", fmt::join(sizes, " x ")), {sizes}, [](const Tensors& x) {
      const Tensor ties = mul(x[0], gt(x[0], Scalar(0.2)));
      Tensors found{cumsum(x[0], 0), cumsum(x[0], 1), cumsum(x[0], -1)};
      for (const Dim dim : {Dim(), Dim(0), Dim(1), Dim(-1)}) {
        for (const Tensor& one :
             {sum(x[0], dim, true), mean(x[0], dim, false), max(ties, dim, false), min(x[0], dim, true),
              var(x[0], dim, false, false), std_(add(x[0], Scalar(5.0)), dim, true, false)})
          found.push_back(one);
        found.push_back(to(argmax(ties, dim, false), DType::F32));
        found.push_back(to(argmin(ties, dim, true), DType::F32));
      }
      return found;
    });
  }
  compare("many", {{100000, 3}}, [](const Tensors& x) {
    const Tensor above = add(mul(x[0], Scalar(0.0)), Scalar(0.3));
    return Tensors{sum(above, 0, false), sum(above, {}, false), sum(transpose(above, 0, 1), 1, false)};
  });
  compare("equal ones", {{11, 10}}, [](const Tensors& x) {
    const Tensor equal = add(mul(x[0], Scalar(0.0)), Scalar(-0.061043452));
    return Tensors{std_(equal, {}, false, true), std_(equal, 1, false, true),
                   std_(transpose(equal, 0, 1), 1, false, false)};
  });
  compare("what is no number", {{6, 50}}, [](const Tensors& x) {
    const Tensor holes = div(x[0], gt(x[0], Scalar(-0.9)));  // infinities
    const Tensor none = where(gt(x[0], Scalar(0.9)), sub(div(x[0], sub(x[0], x[0])), div(x[0], sub(x[0], x[0]))), x[0]);
    Tensors found;
    for (const Dim dim : {Dim(), Dim(0), Dim(1)}) {
      const Tensor most = max(none, dim, false);
      found.push_back(where(ne(most, most), Scalar(3.0), most));
      found.push_back(to(argmax(none, dim, false), DType::F32));
      found.push_back(to(argmin(none, dim, false), DType::F32));
      found.push_back(to(argmin(holes, dim, false), DType::F32));
    }
    return found;
  });
}

TEST_CASE("what goes by an index is the reference's") {
  const auto whole = [](const at::Tensor& numbers) { return give(numbers.to(at::kLong)); };
  const Tensor columns = whole(at::arange(6 * 5 * 7).remainder(4).reshape({6, 5, 7})),
               rows = whole(at::arange(3 * 4 * 7).remainder(6).reshape({3, 4, 7})),
               few = whole(at::tensor({3, 0, 3, 2}));
  compare("by places", {{6, 4, 7}, {6, 5, 7}, {3, 4, 7}, {4, 7}, {2, 7}}, [=](const Tensors& x) {
    return Tensors{gather(x[0], 1, columns),
                   gather(x[0], 0, rows),
                   scatter_add(x[0], 1, columns, x[1]),
                   scatter_add(x[0], 0, rows, x[2]),
                   index_select(x[0], 0, few),
                   index_select(x[0], 1, few),
                   index_select(x[0], -1, few),
                   to(one_hot(few, 5), DType::F32),
                   put_select(x[0], 0, -2, x[3]),
                   put_select(x[0], 1, 2, select(x[1], 1, 3)),
                   put_slice(x[0], 1, 1, -1, x[4]),
                   put_slice(x[0], 0, {}, 3, x[3]),
                   add(x[3], add(to(arange(7), DType::F32), add(zeros({4, 7}), full({7}, Scalar(0.5)))))};
  });
}

TEST_CASE("losses of elements are the reference's") {
  compare("losses", {{6, 31}, {6, 31}, {31}}, [](const Tensors& x) {
    const Tensor shares = abs(x[1]), probs = softmax(x[1], 1);
    Tensors found{kl_div(log_softmax(x[0], 1), mul(probs, gt(x[1], Scalar(0.1))), "batchmean")};
    for (const char* by : {"mean", "sum"}) {
      for (const Tensor& one :
           {mse(x[0], x[1], by), l1(x[0], x[1], by), smooth_l1(x[0], x[1], 0.3, by), huber(x[0], x[1], 0.3, by),
            bce_with_logits(mul(x[0], Scalar(30)), shares, {}, by), bce_with_logits(x[0], shares, abs(x[2]), by)})
        found.push_back(div(one, Scalar(10.0)));
    }
    found.push_back(bce_with_logits(x[0], shares, {}, "none"));
    found.push_back(bce_with_logits(x[0], shares, abs(x[2]), "none"));
    return found;
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

TEST_CASE("what many places give to one element has the same bits for any number of threads") {
  const ModeScope mode(true, false);
  for (const int64_t stride : {1, 2, 3}) {
    const Recorded of = recorded(
        {{9, 2, 9, 3}, {2, 3, 5, 4}},
        [=](const Tensors& x) {
          return Tensors{conv_transpose2d(x[0], x[1], {}, {stride, 2}, {0, 0}, {0, 0}, 1, {1, 1})};
        },
        1);
    std::vector<at::Tensor> found;
    for (const int threads : {1, 2, 3, 5}) {
      CpuPlan plan(of.graph, of.constants, {{0, of.graph.nodes.size(), of.results}}, 9, threads);
      plan.begin(1);
      for (size_t i = 0; i < of.ids.size(); ++i) plan.set(of.ids[i], of.inputs[i]);
      REQUIRE(plan.run(0));
      found.push_back(plan.view(of.results[0]).clone());
      plan.end();
      CHECK(at::equal(found.front(), found.back()));
    }
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
