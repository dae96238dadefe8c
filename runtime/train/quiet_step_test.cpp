// What a planned step leaves out where a fit runs it: the whole of a window but for its reading, its hooks and what is told of it. As
// runtime/plan/cpu/quiet_test.cpp has it for kernels, and runtime/optim/quiet_test.cpp for updates.

#undef LTR_RUNTIME  // Functions as programs call them.

#include <ATen/ATen.h>
#include <doctest/doctest.h>

#include "ltr/operators.h"
#include "ltr/ops.h"
#include "ltr/program.h"
#include "runtime/plan/cpu/quiet_counts.h"
#include "runtime/tensor/handle.h"
#include "runtime/tensor/mode.h"
#include "runtime/train/model_root.h"
#include "runtime/train/session.h"
#include "runtime/train/window_runner.h"

namespace ltr {

namespace {

/// Batches that were read beforehand, again and again: what is counted is not how they are read.
class ReadBatches : public Feed {
 public:
  explicit ReadBatches(std::vector<Batch> batches) : batches_(std::move(batches)) {}
  int64_t batches(int64_t) override { return 1'000'000; }
  int64_t batch_samples(int64_t, int64_t) override { return batches_[0].size; }
  int64_t batch_size() override { return batches_[0].size; }
  void start(int64_t, int64_t) override {}
  bool next(Batch& batch) override {
    const Batch& read = batches_[size_t(count_++) % batches_.size()];
    batch.fields = read.fields;
    batch.size = read.size;
    return true;
  }
  int64_t number() override { return count_ - 1; }
  double waited_s() override { return 0; }

 private:
  std::vector<Batch> batches_;
  int64_t count_ = 0;
};

constexpr int64_t kSamples = 16, kPlaces = 5, kWide = 4, kClasses = 3;
const Str kByMean = "mean";

struct Layer {
  Layer(const Scope& scope, const char* name, int64_t inputs, int64_t outputs)
      : weight(scope.weight(fmt::format("{}_weight", name).c_str(), drawn({outputs, inputs}), {})),
        bias(scope.weight(fmt::format("{}_bias", name).c_str(), drawn({outputs}), {})) {}
  static Tensor drawn(const Ints& sizes) { return give(at::rand(sizes) - 0.5); }
  Tensor operator()(const Tensor& x) const { return linear(x, use(weight), use(bias)); }
  Tensor weight, bias;
};

/// Words that are read in a table, of which no batch reads most rows, and two layers.
class Reader : public Model {
 public:
  Reader(Scope scope, const char* rule, int64_t words)
      : net(scope.child("net")),
        table(words > 0 ? net.weight("table", Layer::drawn({words, kWide}), {}) : Tensor()),
        first(net, "first", kPlaces * (words > 0 ? kWide : 1), 16),
        last(net, "last", 16, kClasses),
        opt(scope.optimizer("opt", Value::call(rule, {{"lr", 0.1, "float", {}}}), net.weights(),
                            {{"clip_norm", 1e-3, "float", {}}}, {}, {})) {}
  Scope net;
  Tensor table;
  Layer first, last;
  Optimizer* opt;
};

void reader_step(Model& model, Context& cx, const Batch& batch, const std::vector<Value>&) {
  Reader& self = static_cast<Reader&>(model);
  at({"reader.ltr", 10, 5});
  Tensor x = batch.fields[0];
  x = self.table.defined() ? reshape(embedding(x, use(self.table)), {-1, kPlaces * kWide}) : to(x, DType::Float);
  const Tensor logits = self.last(dropout(relu(self.first(x)), 0.3));
  const Tensor loss = cross_entropy(logits, batch.fields[1], {}, {}, 0, kByMean);
  cx.minimize(loss, *self.opt, true, {"reader.ltr", 11, 5});
  cx.log(0, loss);
}

std::vector<Batch> batches_of_words() {
  std::vector<Batch> batches;
  for (int64_t i = 0; i < 2; ++i) {
    const at::Tensor words = at::arange(kSamples * kPlaces, at::kLong).mul(7 + i).remainder(90);
    batches.push_back(
        {{give(words.reshape({kSamples, kPlaces})), give(at::arange(kSamples, at::kLong).remainder(kClasses))},
         kSamples});
  }
  return batches;
}

using plan::quiet::counts;

struct Found {
  int64_t allocations, locks, ops;
  bool sums_rows;
};

/// Of a window of `rows` batches of a fit, behind a few that rehearse, plan, and make what is kept. `words` is how many the table has; 0:
/// there is none.
Found counted(const char* rule, int64_t words, int64_t rows = 1) {
  Program program{"reader", 1, "hash", "test", {}, {}, {}, {}, {}, {}, {}};
  program.logs = {{"loss", Role::Train, LogKind::Scalar, LogWhen::Step, Reduce::Mean, true, {}}};
  ExperimentInfo experiment;
  experiment.name = "reader";
  experiment.steps = {{"train", Role::Train, reader_step, {0, 1}, {}, {0}, true, true, false, {}}};
  Data data;
  data.batch = {{"words", DType::I64, {-1, kPlaces}}, {"label", DType::I64, {-1}}};
  data.streams.push_back({Role::Train, "", {}, {}});
  ModelRoot root(7);
  Reader* const model = Scope::make<Reader>(root.scope(), "Reader", rule, words);
  root.finish();
  Unheard progress;
  TrainerSettings trainer;
  std::vector<Value> callbacks;
  RunRequest request{program, experiment, data, *model, root, trainer, callbacks,
                     nullptr, progress,   "",   "",     "",   {},      one_rank()};
  request.flags.backend = Backend::Native;
  const ModeScope training(true, true);
  Session session(request, {Role::Train});
  ReadBatches feed(batches_of_words());
  Position at;
  WindowRunner window(request, session, request.experiment.steps[0], 0, feed, at);
  // As a fit has it, which keeps what is logged until the next recorded step: the first such one shows how much that is.
  Named row;
  const auto run = [&](bool is_recorded) {
    const bool is_there = window.run(rows, is_recorded);
    session.logs.end_window(is_recorded, row);
    session.norms.clear();
    return is_there;
  };
  for (int i = 0; i < 6; ++i) REQUIRE(run(i == 5));
  CHECK(session.steps_text().find("LibTorch") == Str::npos);
  const bool sums_rows = session.steps_text().find("embedding_backward, by rows") != Str::npos;
  bool is_there = false;
  counts.during([&] { is_there = run(false); });
  CHECK(is_there);
  return {counts.allocations.load(), counts.locks.load(), counts.ops.load(), sums_rows};
}

}  // namespace

TEST_CASE("a window of a planned fit takes no memory of the heap and no lock, and dispatches nothing") {
  for (const char* rule : {"Adam", "AdamW", "SGD", "Lamb", "Lars", "Adafactor"}) {
    for (const int64_t rows : {1, 3}) {
      CAPTURE(Str(rule));
      CAPTURE(rows);
      const Found found = counted(rule, 0, rows);
      CHECK(found.allocations == 0);
      CHECK(found.locks == 0);
      CHECK(found.ops == 0);
    }
  }
  // The gradient of a table that its optimizer moves as a whole is as any other; of the others sums for rows are enough.
  for (const char* rule : {"Adam", "SGD", "Adagrad"}) {
    CAPTURE(Str(rule));
    const Found found = counted(rule, 500);
    CHECK(found.sums_rows == (Str(rule) != "Adam"));
    CHECK(found.allocations == 0);
    CHECK(found.locks == 0);
    CHECK(found.ops == 0);
  }
}

}  // namespace ltr
