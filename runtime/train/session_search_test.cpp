#include <doctest/doctest.h>

#include <ATen/ATen.h>

#include <cmath>

#include "runtime/tensor/fake_accelerator.h"
#include "runtime/tensor/handle.h"
#include "runtime/tensor/precision.h"
#include "runtime/train/fake_program.h"
#include "runtime/train/fake_ranks.h"

// Steps that LBFGS repeats.

namespace ltr::fake {

namespace {

/// What the steps of a run did.
struct Seen {
  int64_t evaluations = 0;
  int64_t below = 0;
  std::vector<double> masks, draws_below, accuracies;
  int64_t poison = -1;  ///< of this evaluation the loss is not finite
};
thread_local Seen seen;

void searched_step(Model& model, Context& cx, const Batch& batch, const std::vector<Value>&) {
  Mlp& self = static_cast<Mlp&>(model);
  at({"fake.ltr", 10, 5});
  seen.evaluations++;
  seen.masks.push_back(sum(dropout(full({64}, 1), 0.5), {}, false).item());
  const Tensor logits = self.logits(batch.fields[0]);
  Tensor loss = cross_entropy(logits, batch.fields[1], {}, {}, 0, kMean);
  if (seen.evaluations == seen.poison) loss = mul(loss, Scalar(double(NAN)));
  Accuracy& accuracy = self.accuracy.of(cx.stream);
  accuracy.update(cx.into_metric("accuracy", logits), batch.fields[1]);
  cx.log(3, accuracy);
  cx.print("above");
  cx.minimize(loss, *self.opt, true, {"fake.ltr", 11, 5});
  seen.below++;
  seen.draws_below.push_back(sum(uniform({4}, 0, 1), {}, false).item());
  seen.accuracies.push_back(accuracy.seen.item());
  cx.log(0, loss);
}

Mlp::Options searching(int64_t max_iter = 4, double dropout = 0.1) {
  Mlp::Options options;
  options.rule =
      Value::call("LBFGS", {{"max_iter", max_iter, "int", {}}, {"line_search", Value::symbol("strong_wolfe"), "", {}}});
  options.dropout = dropout;
  return options;
}

struct Heard : Listener {
  void print(const Str&) override { prints++; }
  int64_t prints = 0;
};

struct Searching : Run {
  explicit Searching(const Mlp::Options& options = searching()) : Run(options, 96, 16) {
    experiment.steps[0].run = searched_step;
    experiment.steps[0].updates_always = true;
    trainer.epochs = 2;
    seen = {};
  }
};

at::Tensor weights_of(const Run& run) {
  std::vector<at::Tensor> all;
  for (const Entry& entry : run.root.weights()) all.push_back(In(entry.tensor)->detach().flatten());
  return at::cat(all).clone();
}

Str said_by(Run& run) {
  try {
    RunRequest request = run.request();
    fit(request);
  } catch (const Error& error) {
    return error.code + ": " + error.message;
  }
  return "";
}

}  // namespace

TEST_CASE("what stands above `minimize` is repeated with the same draws, and counts once") {
  Searching run;
  Heard heard;
  RunRequest request{run.program, run.experiment, run.data, *run.model, run.root, run.trainer, run.callbacks,
                     nullptr,     heard,          "",       "",         "",       {},          one_rank()};
  request.make_feed = run.request().make_feed;
  const FitReport report = fit(request);
  CHECK(report.steps == 12);
  CHECK(seen.below == 12);
  CHECK(heard.prints == 12);
  CHECK(seen.evaluations > 24);
  // One batch after the other, and within each the same masks.
  size_t changes = 0;
  for (size_t i = 1; i < seen.masks.size(); i++) changes += seen.masks[i] != seen.masks[i - 1] ? 1 : 0;
  CHECK(changes <= 11);
  CHECK(changes >= 8);
  // The metric has each sample of the epoch once.
  for (size_t i = 0; i < 12; i++) CHECK(seen.accuracies[i] == double(16 * (i % 6 + 1)));
  // Draws behind the update are those of a step that was not repeated.
  const std::vector<double> draws = seen.draws_below;
  Mlp::Options plain = searching();
  plain.rule = Value::call("SGD", {});
  Searching once(plain);
  CHECK(said_by(once).empty());
  CHECK(seen.evaluations == 12);
  CHECK(seen.draws_below == draws);
}

TEST_CASE("a run repeats to the last bit, on a device that is behind as on the host") {
  Searching here;
  CHECK(said_by(here).empty());
  Searching again;
  CHECK(said_by(again).empty());
  CHECK(at::equal(weights_of(here), weights_of(again)));
  Searching late;
  {
    const OnFakeDevice there;
    CHECK(said_by(late).empty());
  }
  CHECK(at::allclose(weights_of(late), weights_of(here), 1e-4, 1e-5));
}

TEST_CASE("ranks search together") {
  Searching alone(searching(4, 0));
  CHECK(said_by(alone).empty());
  std::vector<at::Tensor> ends(2);
  as_two([&](const Ranks& ranks) {
    Searching run(searching(4, 0));
    RunRequest request = run.request(ranks);
    fit(request);
    ends[size_t(ranks.rank())] = weights_of(run);
  });
  CHECK(at::equal(ends[0], ends[1]));
  // Both had the same batches, whose mean is theirs.
  CHECK(at::allclose(ends[0], weights_of(alone), 1e-4, 1e-5));
}

TEST_CASE("a search that comes to no number stops the run, or skips the update, with the weights before it") {
  Mlp::Options options = searching(4, 0);
  options.rule = Value::call("LBFGS", {{"max_iter", 4, "int", {}}});
  Searching before(options);
  before.trainer.steps = 3;
  CHECK(said_by(before).empty());
  const int64_t poison = seen.evaluations + 2;

  Searching stops(options);
  seen.poison = poison;
  CHECK(said_by(stops) == "R4001: the loss is nan at step 4");
  CHECK(at::equal(weights_of(stops), weights_of(before)));

  Searching skips(options);
  skips.trainer.nan = "skip";
  skips.trainer.steps = 4;
  seen.poison = poison;
  CHECK(said_by(skips).empty());
  CHECK(at::equal(weights_of(skips), weights_of(before)));
}

TEST_CASE("what does not go with a repeated step is refused at start") {
  Searching windows;
  windows.trainer.accumulate = 2;
  CHECK(said_by(windows).starts_with("R2006: opt repeats step train (LBFGS), which knows one batch"));
  Searching differs;
  differs.experiment.steps[0].updates_always = false;
  CHECK(said_by(differs).starts_with("R2006: opt repeats step train (LBFGS), which needs one `minimize`"));
  const auto held = [](double ratio) {
    return Value::call(
        "FreezeUntil",
        {{"what", Str("net.fc1"), "str", {}}, {"epoch", 1, "int", {}}, {"lr_ratio", ratio, "float", {}}});
  };
  Searching slow, even;
  slow.callbacks = {held(0.1)};
  even.callbacks = {held(1)};
  CHECK(said_by(slow) == "R2006: FreezeUntil: LBFGS moves all weights by one rate");
  CHECK(said_by(even).empty());
  Searching narrow;
  const OnFakeDevice there;
  set_precision("f16");
  CHECK(said_by(narrow).starts_with("R2006: opt repeats step train (LBFGS), which finds no step lengths"));
  set_precision("f32");
}

}  // namespace ltr::fake
