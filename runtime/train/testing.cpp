#include <ATen/ATen.h>
#include <torch/csrc/autograd/autograd.h>

#include <cmath>
#include <limits>

#include "runtime/data/loader.h"
#include "runtime/tensor/handle.h"
#include "runtime/tensor/mode.h"
#include "runtime/tensor/precision.h"
#include "runtime/tensor/random.h"
#include "runtime/train/backward.h"
#include "runtime/train/feed.h"
#include "runtime/train/root_state.h"

// `test` blocks: a context in which `minimize` updates at once and nothing is logged.

namespace ltr {

namespace {

class TestContext : public Context {
 public:
  TestContext(const TestInfo& test, const std::function<void(const Str&)>& show)
      : root(int64_t(random_key(0, "test", test.title) >> 1)), show_(show) {}

  void minimize(const Tensor& loss, Optimizer& optimizer, bool last, const Location& location) override {
    guarded([&] {
      at(location);
      last_loss = loss.item();
      if (!std::isfinite(last_loss)) throw error_at(location, err::loss_not_finite, last_loss, global_step);
      gradients().run(In(loss), 1, &optimizer, !last);
      step(optimizer);
      global_step++;
    });
  }
  void backward(const Tensor& loss, const Location& location) override {
    guarded([&] {
      at(location);
      gradients().run(In(loss), 1, nullptr, true);
    });
  }
  void zero_grad(Optimizer& optimizer) override { optimizer.zero_grad(); }
  void step(Optimizer& optimizer) override {
    const NoGrad no_grad;
    optimizer.prepare();
    optimizer.clip();
    optimizer.step(global_step);
  }
  void clip_norm(Optimizer& optimizer, double limit) override {
    const NoGrad no_grad;
    optimizer.clip_norm(limit);
  }
  void clip_value(Optimizer& optimizer, double limit) override {
    const NoGrad no_grad;
    optimizer.clip_value(limit);
  }
  void set_lr(Optimizer& optimizer, double rate) override { optimizer.set_rate(rate); }
  void log(int, const Tensor&) override {}
  void log(int, double) override {}
  void log(int, Metric&) override {}
  void log_image(int, const Tensor&) override {}
  void log_image(int, Metric&) override {}
  void log_histogram(int, const Tensor&) override {}
  void log_text(int, const Str&) override {}
  void print(const Str& text) override { show_(text); }
  void stop(const Str&) override {}
  void end_epoch(const Str&) override {}
  void save(const Str&) override {}
  const Tensor& into_metric(const char*, const Tensor& input) override { return input; }
  double metric(const char*) override { return std::numeric_limits<double>::quiet_NaN(); }
  void output(Outputs) override {}

  ModelRoot root;
  double last_loss = std::numeric_limits<double>::quiet_NaN();

 private:
  /// Weights may have been added since the last call.
  Backward& gradients() {
    if (!gradients_ || root.weights().size() != root.state().entries.size()) {
      root.finish();
      gradients_ = std::make_unique<Backward>(root, scale_);
    }
    return *gradients_;
  }
  LossScale scale_;
  std::unique_ptr<Backward> gradients_;
  const std::function<void(const Str&)>& show_;
};

TestContext& test_context(Context& cx) {
  auto* test = dynamic_cast<TestContext*>(&cx);
  if (test == nullptr) throw error_here(err::settings_contradict, "this is only for tests");
  return *test;
}

}  // namespace

Scope test_root(Context& cx) {
  TestContext& test = test_context(cx);
  // Each model or block of a test has a place of its own.
  return test.root.scope().element(int64_t(test.root.state().scopes.size()));
}

void run_test(const Program&, const TestInfo& test, const std::function<void(const Str&)>& print) {
  TestContext cx(test, print);
  const ModeScope evaluation(false, true);
  seed_random(random_key(0, "test", test.title));
  at(test.location);
  test.run(cx);
}

double overfit(Context& cx, Model& model, Data& data, const TrainPair& pair, int64_t steps) {
  TestContext& test = test_context(cx);
  const std::vector<size_t> streams = streams_of(data, Role::Train);
  if (streams.empty()) throw error_here(err::stream_too_short, "overfit: the data has no train stream");
  data::LoaderOptions options;
  options.batch = data.batch;
  options.location = data.streams[streams.front()].location;
  options.name = "train";
  options.overfit = 1;
  data::Loader loader(data.streams[streams.front()].stream, std::move(options));
  loader.start(0, 0);
  Batch batch;
  if (!loader.next(batch)) throw error_here(err::stream_too_short, "overfit: the train stream is empty");
  const ModeScope training(true, true);
  for (int64_t i = 0; i < steps; i++) {
    test.batch_size = batch.size;
    test.stream = int64_t(streams.front());
    seed_random(random_key(0, "overfit", {uint64_t(i)}));
    forget_casts();
    pair.run(model, test, batch, {});
  }
  return test.last_loss;
}

bool gradcheck(Tensor (*f)(const void* self, const Tensor& x), const void* self, const Tensor& given) {
  return guarded([&] {
    const PolicyScope f64(at::kDouble);
    constexpr double kStep = 1e-6;
    constexpr double kTolerance = 1e-5;
    const at::Tensor x = In(given)->detach().to(at::kDouble).clone().requires_grad_(true);
    const at::Tensor y = at::sum(In(f(self, give(x))));
    const at::Tensor gradient = torch::autograd::grad({y}, {x}, {}, {}, false, true)[0];
    const NoGrad no_grad;
    const at::Tensor analytic = gradient.defined() ? gradient.contiguous() : at::zeros_like(x);
    at::Tensor probe = x.detach().contiguous().clone();
    double* data = probe.mutable_data_ptr<double>();
    const double* expected = analytic.const_data_ptr<double>();
    for (int64_t i = 0; i < probe.numel(); i++) {
      const double before = data[i];
      data[i] = before + kStep;
      const double above = at::sum(In(f(self, give(probe.clone())))).item<double>();
      data[i] = before - kStep;
      const double below = at::sum(In(f(self, give(probe.clone())))).item<double>();
      data[i] = before;
      const double numeric = (above - below) / (2 * kStep);
      if (std::abs(numeric - expected[i]) > kTolerance * std::max({1.0, std::abs(numeric), std::abs(expected[i])})) return false;
    }
    return true;
  });
}

}  // namespace ltr
