#pragma once

// A program as `ltrc` would generate it, written by hand for the tests: an MLP of two classes, Adam, dropout, a metric.

#include <memory>

#include "ltr/ops.h"
#include "ltr/program.h"
#include "runtime/train/feed.h"
#include "runtime/train/model_root.h"

namespace ltr::fake {

class Linear : public Block {
 public:
  Linear(Scope scope, int64_t inputs, int64_t outputs) {
    const double bound = 1.0 / std::sqrt(double(inputs));
    scope.seed("weight");
    weight = scope.weight("weight", uniform({outputs, inputs}, -bound, bound), {});
    scope.seed("bias");
    bias = scope.weight("bias", uniform({outputs}, -bound, bound), {});
  }
  Tensor forward(const Tensor& x) const { return linear(x, use(weight), use(bias)); }
  Tensor weight;
  Tensor bias;
};

class Accuracy : public Metric {
 public:
  Accuracy() { reset(); }
  void reset() final {
    hits = full({}, 0);
    seen = full({}, 0);
  }
  void update(const Tensor& logits, const Tensor& label) {
    const NoGrad no_grad;
    hits = add(hits, sum(eq(argmax(logits, 1, false), label), {}, false));
    seen = add(seen, Scalar(label.size(0)));
  }
  std::vector<State> states() override { return {{"hits", &hits, Reduce::Sum}, {"seen", &seen, Reduce::Sum}}; }
  Tensor compute() override { return div(hits, seen); }
  Tensor hits;
  Tensor seen;
};

class Mlp : public Model {
 public:
  struct Options {
    Value rule = Value::call("Adam", {{"lr", 1e-2, "float", {}}});
    std::vector<Argument> settings;
    double dropout = 0;
    int64_t inputs = 8;
    int64_t hidden = 16;
  };
  Mlp(Scope scope, const Options& given) : options(given), net(scope.child("net")) {
    fc1 = Scope::make<Linear>(net.child("fc1"), "Linear", options.inputs, options.hidden);
    fc2 = Scope::make<Linear>(net.child("fc2"), "Linear", options.hidden, options.hidden);
    fc3 = Scope::make<Linear>(net.child("fc3"), "Linear", options.hidden, int64_t(2));
    opt = scope.optimizer("opt", options.rule, net.weights(), options.settings, {}, {});
    accuracy.set([](std::vector<Accuracy*>& states, const void*) { states.push_back(new Accuracy()); }, this);
    metrics.push_back({"accuracy", [](Model& model, int64_t stream) -> Metric& {
                         return static_cast<Mlp&>(model).accuracy.of(stream);
                       }});
  }
  Tensor logits(const Tensor& x) const {
    return fc3->forward(ltr::dropout(relu(fc2->forward(relu(fc1->forward(x)))), options.dropout));
  }
  Options options;
  Scope net;
  Linear* fc1;
  Linear* fc2;
  Linear* fc3;
  Optimizer* opt;
  MetricOf<Accuracy> accuracy;
};

inline const Str kMean = "mean";

inline void train_step(Model& model, Context& cx, const Batch& batch, const std::vector<Value>&) {
  Mlp& self = static_cast<Mlp&>(model);
  at({"fake.ltr", 10, 5});
  const Tensor logits = self.logits(batch.fields[0]);
  const Tensor loss = cross_entropy(logits, batch.fields[1], {}, {}, 0, kMean);
  cx.minimize(loss, *self.opt, true, {"fake.ltr", 11, 5});
  cx.log(0, loss);
  if (cx.epoch >= 0) {
    Accuracy& accuracy = self.accuracy.of(cx.stream);
    accuracy.update(cx.into_metric("accuracy", logits), batch.fields[1]);
    cx.log(3, accuracy);
  }
}

inline void train_step_lean(Model& model, Context& cx, const Batch& batch, const std::vector<Value>&) {
  Mlp& self = static_cast<Mlp&>(model);
  at({"fake.ltr", 10, 5});
  const Tensor loss = cross_entropy(self.logits(batch.fields[0]), batch.fields[1], {}, {}, 0, kMean);
  cx.minimize(loss, *self.opt, true, {"fake.ltr", 11, 5});
  cx.log(0, loss);
}

inline void val_step(Model& model, Context& cx, const Batch& batch, const std::vector<Value>&) {
  Mlp& self = static_cast<Mlp&>(model);
  const Tensor logits = self.logits(batch.fields[0]);
  cx.log(1, cross_entropy(logits, batch.fields[1], {}, {}, 0, kMean));
  Accuracy& accuracy = self.accuracy.of(cx.stream);
  accuracy.update(cx.into_metric("accuracy", logits), batch.fields[1]);
  cx.log(2, accuracy);
}

/// Points in [-1, 1]ⁿ whose class is whether their sum is positive; a pure function of (epoch, batch).
class Points : public Feed {
 public:
  Points(int64_t samples, int64_t size, int64_t inputs, uint64_t salt);
  int64_t batches(int64_t) override { return (samples_ + size_ - 1) / size_; }
  int64_t batch_samples(int64_t, int64_t batch) override { return std::min(size_, samples_ - batch * size_); }
  int64_t batch_size() override { return size_; }
  void start(int64_t epoch, int64_t first_batch) override {
    epoch_ = epoch;
    next_ = first_batch;
  }
  bool next(Batch& batch) override;
  int64_t number() override { return next_ - 1; }
  double waited_s() override { return 0; }
  int64_t poison = -1;  ///< the batch whose first number is nan

 private:
  int64_t samples_, size_, inputs_;
  uint64_t salt_;
  int64_t epoch_ = 0, next_ = 0;
};

/// A quiet Progress that keeps what it was told.
class Listener : public Unheard {
 public:
  void batch(int64_t, int64_t, int64_t) override { batches++; }
  void round_begin(Role, int64_t) override { rounds++; }
  void round_end(Role, int64_t, int64_t, Scalars values) override { last_round.assign(values.begin(), values.end()); }
  void epoch_end(int64_t, int64_t, Scalars values) override { last_epoch.assign(values.begin(), values.end()); }
  void checkpoint(const Str& path) override { checkpoints.push_back(path); }
  void notice(const Str& text) override { notices.push_back(text); }
  void warning(const Str& text) override { warnings.push_back(text); }

  int64_t batches = 0;
  int64_t rounds = 0;
  std::vector<std::pair<Str, double>> last_round, last_epoch;
  std::vector<Str> checkpoints, notices, warnings;
};

/// One run of the fake program.
struct Run {
  explicit Run(Mlp::Options options = {}, int64_t samples = 100, int64_t size = 16, bool is_lean = false);
  RunRequest request(const Ranks& ranks = one_rank());

  Program program;
  ExperimentInfo experiment;
  Data data;
  ModelRoot root;
  Mlp* model;
  Listener progress;
  TrainerSettings trainer;
  std::vector<Value> callbacks;
  Str run_dir;
  Str resume;
  int64_t samples, size;
  int64_t poison = -1;
};

}  // namespace ltr::fake
