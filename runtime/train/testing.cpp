#include <ATen/ATen.h>
#include <c10/core/GradMode.h>
#include <torch/csrc/autograd/autograd.h>

#include <cmath>
#include <limits>

#include "runtime/data/loader.h"
#include "runtime/tensor/draw.h"
#include "runtime/tensor/handle.h"
#include "runtime/tensor/host_read.h"
#include "runtime/tensor/mode.h"
#include "runtime/tensor/precision.h"
#include "runtime/tensor/random.h"
#include "runtime/train/backward.h"
#include "runtime/train/evaluation.h"
#include "runtime/train/feed.h"
#include "runtime/train/kept_metrics.h"
#include "runtime/train/root_state.h"
#include "runtime/train/step_runner.h"

// `test` blocks: a context in which `minimize` updates at once and nothing is logged.

namespace ltr {

namespace {

class TestContext : public Context {
 public:
  TestContext(const TestInfo& test, const std::function<void(const Str&)>& show)
      : root(int64_t(random_key(0, "test", test.title) >> 1)), show_(show) {}

  void minimize(const Tensor& loss, Optimizer& optimizer, bool last, const Location& location) override {
    if (evaluated_ != nullptr) {
      evaluated_->loss = guarded([&] { return take_gradient(loss, optimizer); });
      throw EndOfEvaluation{};
    }
    guarded([&] {
      note_loss(loss, location);
      gradients().run(In(loss), 1, &optimizer, !last);
      if (optimizer.repeats_step()) {
        search(optimizer, location);
      } else {
        step(optimizer);
      }
      global_step++;
    });
  }
  void backward(const Tensor& loss, const Location& location) override {
    guarded([&] {
      note_loss(loss, location);
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
  void print(const Str& text) override {
    if (evaluated_ == nullptr) show_(text);
  }
  void stop(const Str&) override {}
  void end_epoch(const Str&) override {}
  void save(const Str&) override {}
  const Tensor& into_metric(const char*, const Tensor& input) override { return input; }
  double metric(const char*) override { return std::numeric_limits<double>::quiet_NaN(); }
  void output(Outputs) override {}
  const Outputs& outputs() const override { return none_; }

  ModelRoot root;
  double last_loss = std::numeric_limits<double>::quiet_NaN();  ///< that a step minimized, or took the gradient of
  std::function<void()> again;  ///< the step under way, on the same batch and with the same random numbers

 private:
  void search(Optimizer& optimizer, const Location& location) {
    if (!again) {
      throw with_help(error_at(location, err::settings_contradict, "LBFGS repeats a step, and this is none"),
                      "`overfit(model, data, steps)` runs steps in a test");
    }
    optimizer.prepare();
    const NoGrad no_grad;
    const DrawScope draws(DrawScope::here());
    const bool moved =
        optimizer.search(global_step, last_loss, [&] { return evaluated_by(again, evaluated_, location); });
    if (!moved) throw error_at(location, err::gradient_not_finite, optimizer.name(), global_step);
  }
  double take_gradient(const Tensor& loss, Optimizer& optimizer) {
    gradients().run(In(loss), 1, &optimizer, false);
    return loss.item();
  }
  void note_loss(const Tensor& loss, const Location& location) {
    at(location);
    last_loss = loss.item();
    if (!std::isfinite(last_loss)) throw error_at(location, err::loss_not_finite, last_loss, global_step);
  }

  /// Weights may have been added since the last call.
  Backward& gradients() {
    if (!gradients_ || root.weights().size() != root.state().entries.size()) {
      root.finish();
      gradients_ = std::make_unique<Backward>(root, scale_);
    }
    return *gradients_;
  }
  Outputs none_;
  Evaluated* evaluated_ = nullptr;  ///< while the step is evaluated again
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
  const Batch there = on_device(batch);
  for (int64_t i = 0; i < steps; i++) {
    test.batch_size = batch.size;
    test.stream = int64_t(streams.front());
    const auto step = [&] {
      seed_random(random_key(0, "overfit", {uint64_t(i)}));
      forget_casts();
      pair.run(model, test, there, {});
    };
    test.again = [&] {
      const KeptMetrics metrics(model, test.stream);
      step();
    };
    step();
  }
  test.again = nullptr;
  return test.last_loss;
}

namespace {

/// The weights and float buffers of a test are f64 while it lives.
class WideWeights {
 public:
  explicit WideWeights(RootState& root) {
    for (const Entry& entry : root.entries) {
      at::Tensor tensor = aten(entry.tensor);
      if (!tensor.is_floating_point() || tensor.scalar_type() == at::kDouble) continue;
      narrow_.emplace_back(tensor, tensor.data());
      tensor.set_data(tensor.data().to(at::kDouble));
    }
  }
  ~WideWeights() {
    for (auto& [tensor, data] : narrow_) tensor.set_data(data);
  }
  WideWeights(const WideWeights&) = delete;
  WideWeights& operator=(const WideWeights&) = delete;

 private:
  std::vector<std::pair<at::Tensor, at::Tensor>> narrow_;
};

}  // namespace

bool gradcheck(Context& cx, const Callable<Tensor, Tensor>& f, const Tensor& given) {
  return guarded([&] {
    constexpr double kStep = 1e-6;
    constexpr double kTolerance = 1e-5;
    const PolicyScope f64(at::kDouble);
    const WideWeights wide(test_context(cx).root.state());
    const uint64_t key = random_key(0, "gradcheck", {});
    // What draws random numbers draws the same ones each time.
    at::Tensor direction;
    const auto along = [&](const at::Tensor& x) {
      seed_random(key);
      const at::Tensor y = aten(f(give(x)));
      if (!direction.defined())
        direction = at::cos(at::arange(1, y.numel() + 1, y.options().dtype(at::kDouble))).view(y.sizes());
      return at::sum(y.to(at::kDouble) * direction);
    };
    const at::Tensor x = In(given)->detach().to(at::kDouble).clone(at::MemoryFormat::Contiguous).requires_grad_(true);
    at::Tensor gradient;
    {
      const c10::AutoGradMode on(true);
      const at::Tensor y = along(x);
      if (y.requires_grad()) gradient = torch::autograd::grad({y}, {x}, {}, {}, false, true)[0];
    }
    const NoGrad no_grad;
    const at::Tensor analytic = gradient.defined() ? on_host(gradient).contiguous() : at::zeros(x.sizes(), at::kDouble);
    at::Tensor probe = on_host(x).clone();
    double* data = probe.mutable_data_ptr<double>();
    const double* expected = analytic.const_data_ptr<double>();
    const auto value = [&] { return along(probe.to(x.device(), at::kDouble, false, true)).item<double>(); };
    for (int64_t i = 0; i < probe.numel(); i++) {
      const double before = data[i];
      data[i] = before + kStep;
      const double above = value();
      data[i] = before - kStep;
      const double below = value();
      data[i] = before;
      const double numeric = (above - below) / (2 * kStep);
      // Not a number on either side is no gradient.
      if (!(std::abs(numeric - expected[i]) <= kTolerance * std::max({1.0, std::abs(numeric), std::abs(expected[i])})))
        return false;
    }
    return true;
  });
}

}  // namespace ltr
