// What a planned step leaves out, counted: memory of the heap, locks, and ops that LibTorch dispatches.

#undef LTR_RUNTIME  // Functions as programs call them.

#include <ATen/ATen.h>
#include <ATen/record_function.h>
#include <dlfcn.h>
#include <pthread.h>

#include <doctest/doctest.h>

#include "ltr/operators.h"
#include "ltr/ops.h"
#include "runtime/plan/cpu/cpu_plan.h"
#include "runtime/plan/cpu/quiet_counts.h"
#include "runtime/plan/differentiate.h"
#include "runtime/plan/recorder.h"
#include "runtime/tensor/mode.h"
#include "runtime/tensor/random.h"

namespace ltr::plan::quiet {

Counts counts;

namespace {

void count(std::atomic<int64_t>& of) {
  if (counts.are_on.load(std::memory_order_relaxed)) of.fetch_add(1, std::memory_order_relaxed);
}

}  // namespace

void Counts::during(c10::function_ref<void()> work) {
  const auto callback = at::addGlobalCallback(
      at::RecordFunctionCallback([](const at::RecordFunction&) -> std::unique_ptr<at::ObserverContext> {
        count(counts.ops);
        return nullptr;
      }));
  allocations = locks = ops = 0;
  are_on = true;
  work();
  are_on = false;
  at::removeCallback(callback);
}

}  // namespace ltr::plan::quiet

// The tests stand in front of the C library: for themselves and for LibTorch. Sanitizers stand there already.
#if defined(__GLIBC__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define LTR_COUNTS 1
#define LTR_IN_FRONT __attribute__((visibility("default")))

extern "C" {

void* __libc_malloc(size_t size);
void* __libc_calloc(size_t count, size_t size);
void* __libc_realloc(void* memory, size_t size);
void* __libc_memalign(size_t alignment, size_t size);

LTR_IN_FRONT void* malloc(size_t size) {
  ltr::plan::quiet::count(ltr::plan::quiet::counts.allocations);
  return __libc_malloc(size);
}
LTR_IN_FRONT void* calloc(size_t count, size_t size) {
  ltr::plan::quiet::count(ltr::plan::quiet::counts.allocations);
  return __libc_calloc(count, size);
}
LTR_IN_FRONT void* realloc(void* memory, size_t size) {
  ltr::plan::quiet::count(ltr::plan::quiet::counts.allocations);
  return __libc_realloc(memory, size);
}
LTR_IN_FRONT int posix_memalign(void** memory, size_t alignment, size_t size) {
  ltr::plan::quiet::count(ltr::plan::quiet::counts.allocations);
  *memory = __libc_memalign(alignment, size);
  return *memory == nullptr ? ENOMEM : 0;
}
LTR_IN_FRONT void* aligned_alloc(size_t alignment, size_t size) {
  ltr::plan::quiet::count(ltr::plan::quiet::counts.allocations);
  return __libc_memalign(alignment, size);
}
LTR_IN_FRONT int pthread_mutex_lock(pthread_mutex_t* mutex) {
  static const auto real = reinterpret_cast<int (*)(pthread_mutex_t*)>(dlsym(RTLD_NEXT, "pthread_mutex_lock"));
  ltr::plan::quiet::count(ltr::plan::quiet::counts.locks);
  return real(mutex);
}

}  // extern "C"
#endif

namespace ltr::plan::quiet {

namespace {

/// A step of weights on one batch, differentiated.
struct Quiet {
  Recorder recorder;
  Tensors fields;
  std::vector<ValueId> ids, weights;
  std::unordered_map<ValueId, Tensor> kept;
  int64_t drawn = 0;

  Tensor numbers(const Ints& sizes) {
    at::Generator generator = at::globalContext().defaultGenerator(at::kCPU).clone();
    generator.set_current_seed(uint64_t(++drawn));
    return give(at::rand(sizes, generator) - 0.5);
  }
  Tensor field(const Tensor& tensor) {
    ids.push_back(recorder.input(tensor, "x"));
    return fields.emplace_back(tensor);
  }
  Tensor field(const Ints& sizes) { return field(numbers(sizes)); }
  Tensor weight(const Ints& sizes) {
    const Tensor tensor = give(aten(numbers(sizes)).set_requires_grad(true));
    weights.push_back(recorder.weight(tensor, "w"));
    return tensor;
  }
  Tensor classes(int64_t count, int64_t most) {
    return field(give(at::arange(count, at::kLong).mul(7).remainder(most)));
  }
};

Tensor mlp(Quiet& of) {
  Tensor x = of.field({16, 20});
  x = relu(linear(x, of.weight({40, 20}), of.weight({40})));
  x = dropout(x, 0.2);
  x = linear(x, of.weight({10, 40}), of.weight({10}));
  return cross_entropy(x, of.classes(16, 10), {}, {}, 0, "mean");
}

Tensor conv_net(Quiet& of) {
  Tensor x = of.field({6, 3, 16, 16});
  x = conv2d(x, of.weight({16, 3, 3, 3}), of.weight({16}), {1, 1}, {1, 1, 1, 1}, {1, 1}, 1);
  x = max_pool2d(relu(group_norm(x, 4, of.weight({16}), of.weight({16}), 1e-5)), {2, 2}, {2, 2}, {0, 0}, {1, 1}, false);
  x = conv2d(x, of.weight({16, 16, 3, 3}), {}, {1, 1}, {1, 1, 1, 1}, {1, 1}, 1);
  x = conv2d(relu(x), of.weight({20, 16, 3, 3}), {}, {2, 2}, {1, 1, 1, 1}, {1, 1}, 1);
  x = flatten(adaptive_avg_pool2d(silu(x), {1, 1}), 1, -1);
  return cross_entropy(linear(x, of.weight({10, 20}), {}), of.classes(6, 10), {}, {}, 0, "mean");
}

Tensor block_of_gpt(Quiet& of) {
  constexpr int64_t kRecords = 4, kPlaces = 8, kHeads = 2, kWide = 16;
  const auto norm = [&](const Tensor& x) { return layer_norm(x, of.weight({kWide}), of.weight({kWide}), 1e-5); };
  const auto heads = [&](const Tensor& x) {
    return transpose(reshape(x, {kRecords, kPlaces, kHeads, kWide / kHeads}), 1, 2);
  };
  Tensor x = add(embedding(reshape(of.classes(kRecords * kPlaces, 30), {kRecords, kPlaces}), of.weight({30, kWide})),
                 of.weight({kPlaces, kWide}));
  const Tensors qkv = chunk(linear(norm(x), of.weight({3 * kWide, kWide}), of.weight({3 * kWide})), 3, -1);
  const Tensor seen = attention(heads(qkv[0]), heads(qkv[1]), heads(qkv[2]), {}, true, 0, {});
  x = add(x, linear(reshape(transpose(seen, 1, 2), {kRecords, kPlaces, kWide}), of.weight({kWide, kWide}), {}));
  x = add(x, linear(gelu(linear(norm(x), of.weight({4 * kWide, kWide}), of.weight({4 * kWide})), "tanh"),
                    of.weight({kWide, 4 * kWide}), {}));
  const Tensor logits = reshape(linear(norm(x), of.weight({30, kWide}), {}), {kRecords * kPlaces, 30});
  return cross_entropy(logits, of.classes(kRecords * kPlaces, 30), {}, {}, 0, "mean");
}

/// Pixels by class: borders, images of other sizes, planes that drop out, classes that count for more or not at all.
Tensor segmentation(Quiet& of) {
  constexpr int64_t kRecords = 4, kClasses = 5;
  const Tensor images = of.field({kRecords, 3, 12, 14});
  Tensor x =
      conv2d(pad(images, {1, 1, 1, 1}, "reflect", 0), of.weight({8, 3, 3, 3}), {}, {2, 2}, {0, 0, 0, 0}, {1, 1}, 1);
  x = dropout2d(mish(x), 0.3);
  x = interpolate(x, 12, 14, "bilinear", false);
  x = conv2d(x, of.weight({kClasses, 8, 1, 1}), of.weight({kClasses}), {1, 1}, {0, 0, 0, 0}, {1, 1}, 1);
  x = mul(x, softmax(x, 1));
  const Tensor labels = reshape(of.classes(kRecords * 12 * 14, kClasses), {kRecords, 12, 14});
  return cross_entropy(x, labels, abs(of.field({kClasses})), 2, 0.1, "mean");
}

/// Words with padding: grouped heads that turn by place, a mask, the best few, noise.
Tensor masked_words(Quiet& of) {
  constexpr int64_t kRecords = 4, kPlaces = 8, kWide = 16;
  const Tensor words = reshape(of.classes(kRecords * kPlaces, 30), {kRecords, kPlaces}),
               sees = ne(words, Scalar(int64_t(0)));
  const Tensor x = embedding(words, of.weight({30, kWide}));
  const auto heads = [&](int64_t count) {
    return transpose(reshape(linear(x, of.weight({count * 8, kWide}), {}), {kRecords, kPlaces, count, 8}), 1, 2);
  };
  const Tensor q = rope(heads(4), 100, 0), k = rope(heads(2), 100, 0);
  const Tensor seen = attention(q, k, heads(2), unsqueeze(unsqueeze(sees, 1), 1), true, 0.1, {});
  const Tensor all = reshape(transpose(seen, 1, 2), {kRecords, kPlaces, 32});
  const Tensor best = std::get<0>(topk(add(all, mul(randn({kRecords, kPlaces, 32}), Scalar(0.1))), 4, -1));
  const Tensor picked = index_tensor(best, 1, of.classes(3, 4));
  return add(mean(logsumexp(picked, 2, false), {}, false), mean(norm(best, 2, 2, false), {}, false));
}

/// Moment by moment: three kinds of layers, one of which reads backwards.
Tensor recurrent(Quiet& of) {
  constexpr int64_t kRecords = 4, kMoments = 6, kWide = 8;
  const Tensor x = of.field({kRecords, kMoments, 5}), none = of.field(give(at::zeros({kRecords, kWide})));
  const auto weights = [&](int64_t gates, int64_t inputs) { return of.weight({gates * kWide, inputs}); };
  const Tensor first = std::get<0>(
      lstm(x, none, none, weights(4, 5), weights(4, kWide), of.weight({4 * kWide}), of.weight({4 * kWide}), false));
  const Tensor second = std::get<0>(
      gru(first, none, weights(3, kWide), weights(3, kWide), of.weight({3 * kWide}), of.weight({3 * kWide}), true));
  const Tensor last = std::get<1>(
      rnn(second, none, weights(1, kWide), weights(1, kWide), of.weight({kWide}), of.weight({kWide}), "tanh", false));
  return cross_entropy(linear(last, of.weight({10, kWide}), {}), of.classes(kRecords, 10), {}, {}, 0, "mean");
}

/// Norms that take the batch in, on the way down and up again.
Tensor generator(Quiet& of) {
  const auto norm = [&](const Tensor& x, int64_t channels) {
    const auto average = [&](double value) {
      const Tensor kept = give(at::full({channels}, value));
      of.recorder.weight(kept, "average");
      return kept;
    };
    return batch_norm(x, of.weight({channels}), of.weight({channels}), average(0), average(1), {}, 0.1, 1e-5);
  };
  Tensor x = of.field({6, 3, 8, 8});
  x = relu(norm(conv2d(x, of.weight({8, 3, 3, 3}), {}, {2, 2}, {1, 1, 1, 1}, {1, 1}, 1), 8));
  x = relu(norm(conv_transpose2d(x, of.weight({8, 6, 4, 4}), of.weight({6}), {2, 2}, {1, 1}, {0, 0}, 1, {1, 1}), 6));
  return mse(x, of.field({6, 6, 8, 8}), "mean");
}

/// Films, and sounds.
Tensor volumes(Quiet& of) {
  Tensor x = of.field({4, 2, 5, 6, 7});
  x = conv3d(x, of.weight({4, 2, 3, 3, 3}), of.weight({4}), {1, 1, 1}, {1, 1, 1, 1, 1, 1}, {1, 1, 1}, 1);
  x = conv_transpose3d(relu(x), of.weight({4, 3, 2, 2, 2}), of.weight({3}), {2, 2, 2}, {0, 0, 0}, {0, 0, 0}, 1,
                       {1, 1, 1});
  Tensor sound = of.field({4, 2, 30});
  sound = max_pool1d(conv1d(sound, of.weight({6, 2, 5}), of.weight({6}), 1, {2, 2}, 1, 1), 2, 2, 0, 1, false);
  sound = conv_transpose1d(relu(sound), of.weight({6, 3, 4}), of.weight({3}), 2, 1, 0, 1, 1);
  return add(mean(square(x), {}, false), mean(square(sound), {}, false));
}

void expect_quiet(const Str& title, Tensor (*step)(Quiet&), int64_t samples) {
  CAPTURE(title);
  const ModeScope mode(true, true);
  Quiet of;
  seed_random(1);
  const Tensor loss = step(of);
  const ValueId loss_id = of.recorder.id_of(loss);
  const Recording recording = of.recorder.take();
  Graph graph = recording.graph;
  const size_t end = graph.nodes.size();
  const ValueId seed = graph.add({.kind = Value::Kind::Input, .is_sized = true, .name = "seed"});
  const Differentiated found = differentiate(graph, end, loss_id, seed, of.weights);
  REQUIRE_FALSE(found.refusal);
  Reference reference(graph, recording.kept);
  reference.note_sizes(&graph);
  for (size_t i = 0; i < of.ids.size(); ++i) reference.set(of.ids[i], of.fields[i]);
  const Tensor one = give(at::ones({}));
  reference.set(seed, one);
  reference.run(0, graph.nodes.size());
  struct Form {
    int threads;
    bool narrows, has_row_sums;
  };
  for (const auto& [threads, narrows, has_row_sums] :
       {Form{1, false, false}, {2, false, false}, {2, true, false}, {2, false, true}}) {
    CAPTURE(threads);
    CAPTURE(narrows);
    CAPTURE(has_row_sums);
    std::set<ValueId> of_tables;
    if (has_row_sums) of_tables.insert(found.gradients.begin(), found.gradients.end());
    CpuPlan plan(graph, recording.kept, {{0, end, {loss_id}}, {end, graph.nodes.size(), found.gradients}}, samples,
                 threads, std::make_shared<Arena>(), of_tables, narrows);
    CHECK(plan.text().find("LibTorch") == Str::npos);
    const auto run = [&] {
      plan.begin(1);
      for (size_t i = 0; i < of.ids.size(); ++i) plan.set(of.ids[i], of.fields[i]);
      plan.set(seed, one);
      bool is_well = plan.run(0);
      is_well = plan.run(1) && is_well;
      plan.end();
      return is_well;
    };
    REQUIRE(run());
    bool is_well = false;
    counts.during([&] { is_well = run(); });
    CHECK(is_well);
    CHECK(counts.allocations.load() == 0);
    CHECK(counts.locks.load() == 0);
    CHECK(counts.ops.load() == 0);
  }
}

}  // namespace

TEST_CASE("a planned step takes no memory of the heap and no lock, and dispatches nothing") {
#if defined(LTR_COUNTS)
  // It is counted at all.
  counts.during([] { static_cast<void>(at::ones({1000}) + 1); });
  CHECK(counts.allocations.load() > 0);
#endif
  expect_quiet("mlp", mlp, 16);
  expect_quiet("conv_net", conv_net, 6);
  expect_quiet("block of a gpt", block_of_gpt, 4);
  expect_quiet("segmentation", segmentation, 4);
  expect_quiet("masked words", masked_words, 4);
  expect_quiet("recurrent layers", recurrent, 4);
  expect_quiet("norms of the batch", generator, 6);
  expect_quiet("volumes", volumes, 4);
}

}  // namespace ltr::plan::quiet
