#include <doctest/doctest.h>

#include <ATen/ATen.h>

#include <array>
#include <cmath>
#include <filesystem>
#include <map>

#include "runtime/checkpoint/tensors.h"
#include "runtime/optim/optimizer.h"
#include "runtime/tensor/fake_accelerator.h"
#include "runtime/tensor/handle.h"
#include "runtime/tensor/host_read.h"
#include "runtime/tensor/precision.h"
#include "runtime/train/fake_program.h"
#include "runtime/train/fake_ranks.h"
#include "runtime/train/loss_scale.h"

namespace ltr::fake {

namespace {

at::Tensor weights_of(const ModelRoot& root) {
  std::vector<at::Tensor> all;
  for (const Entry& entry : root.weights()) all.push_back(In(entry.tensor)->detach().flatten());
  return at::cat(all).clone();
}

struct Done {
  at::Tensor weights;
  FitReport report;
  Str error;
  int64_t reads = 0;
  int64_t batches = 0;  ///< that went to the device
};

/// A whole fit, on the fake device if `is_late`.
Done done(Run& run, bool is_late) {
  Option<OnFakeDevice> there;
  if (is_late) there.emplace();
  RunRequest request = run.request();
  Done out;
  const int64_t before = host_reads();
  try {
    out.report = fit(request);
  } catch (const Error& error) {
    out.error = error.code + ": " + error.message;
  }
  out.reads = host_reads() - before;
  if (there) out.batches = there->device.batches;
  out.weights = weights_of(run.root);
  return out;
}

Mlp::Options with_rule(const char* rule, std::vector<Argument> arguments = {}) {
  Mlp::Options options;
  options.rule = Value::call(rule, std::move(arguments));
  return options;
}

constexpr const char* kRules[] = {
#define LTR_RULE(name, maker, lr, weight_decay, states, more, moves) #name,
#include "runtime/tables/rules.def"
#undef LTR_RULE
};

/// Muon takes matrices only; LBFGS repeats a step, in session_search_test.cpp.
bool moves_all(const Str& rule) { return rule != "Muon" && rule != "LBFGS"; }

}  // namespace

TEST_CASE("a run on a device that is behind trains as one on the host does") {
  for (const Str rule : kRules) {
    if (!moves_all(rule)) continue;
    CAPTURE(rule);
    Mlp::Options options = with_rule(rule.c_str());
    options.settings = {{"clip_norm", 0.5, "float", {}}};
    Run here(options), there(options);
    here.trainer.accumulate = there.trainer.accumulate = 2;
    const Done expected = done(here, false), late = done(there, true);
    CHECK(late.error == "");
    CHECK(late.report.steps == expected.report.steps);
    CHECK(late.batches > there.progress.batches);  // those of training, and of the rounds
    CHECK(at::allclose(late.weights, expected.weights, 1e-5, 1e-6));
  }
}

TEST_CASE("between recorded steps the host reads nothing from a device that is behind") {
  const auto reads_of = [](const Mlp::Options& options, int64_t samples) {
    Run run(options, samples, 16);
    run.trainer.epochs = 1;
    run.trainer.log_every = 1 << 20;
    run.trainer.check_grads = true;
    return done(run, true).reads;
  };
  for (const char* rule : {"SGD", "Adam", "AdamW", "Adadelta", "RMSprop", "Rprop", "Lion", "Lars"}) {
    CAPTURE(rule);
    Mlp::Options options = with_rule(rule);
    options.settings = {{"clip_norm", 1.0, "float", {}}};
    // Four times as many steps, each with two logs, a metric, clipping and the test for numbers that are not finite.
    const int64_t reads = reads_of(options, 160);
    CHECK(reads > 0);
    CHECK(reads_of(options, 640) == reads);
  }
}

TEST_CASE(
    "stop: the device holds back the step that is not finite and all behind it, and the host learns of it later") {
  for (const int64_t ahead : {0, 2, 5}) {
    CAPTURE(ahead);
    Run before, run;
    before.trainer.steps = 3;
    before.trainer.epochs = -1;
    run.poison = 3;
    run.trainer.host_ahead = ahead;
    const Done stopped = done(run, true);
    CHECK(stopped.error == "R4001: the loss is nan at step 4");
    CHECK(run.progress.batches == 4 + ahead);
    CHECK(at::equal(stopped.weights, done(before, true).weights));
  }
}

TEST_CASE("what a late stop leaves is that of its step") {
  const Str folder = (std::filesystem::temp_directory_path() / fmt::format("ltr-late-{}", getpid())).string();
  Run run;
  run.poison = 3;
  run.run_dir = folder;
  run.callbacks = {Value::call("Checkpoint", {})};
  const Done stopped = done(run, true);
  CHECK(stopped.error == "R4001: the loss is nan at step 4");
  CHECK(std::filesystem::exists(folder + "/checkpoints/nonfinite-step0000003/weights.safetensors"));
  CHECK(std::filesystem::exists(folder + "/faults/step0000004.safetensors"));
  std::filesystem::remove_all(folder);
}

TEST_CASE("skip: a run on a device drops the same updates as one on the host") {
  for (const Str rule : {"SGD", "Adam", "NAdam", "RMSprop"}) {
    CAPTURE(rule);
    Run here(with_rule(rule.c_str())), there(with_rule(rule.c_str()));
    here.poison = there.poison = 2;
    here.trainer.nan = there.trainer.nan = "skip";
    const Done expected = done(here, false), late = done(there, true);
    CHECK(late.error == "");
    CHECK(late.report.skipped_updates == 3);  // one in each epoch
    CHECK(expected.report.skipped_updates == 3);
    CHECK(at::allclose(late.weights, expected.weights, 1e-5, 1e-6));
  }
}

TEST_CASE("too many in a row are counted where the host is behind, too") {
  Run run({}, 16, 16);  // one batch an epoch, always the same
  run.poison = 0;
  run.trainer.nan = "skip";
  run.trainer.nan_limit = 2;
  CHECK(done(run, true).error.starts_with("R4003: 2 updates in a row"));
}

TEST_CASE("ranks on a device exchange as often in a step as those on the host") {
  const auto exchanges = [](bool is_late, int64_t samples) {
    Option<OnFakeDevice> there;
    if (is_late) there.emplace();
    int64_t count = 0;
    as_two([&](const Ranks& ranks) {
      Run run({}, samples, 16);
      run.trainer.epochs = 1;
      run.trainer.log_every = 1 << 20;
      RunRequest request = run.request(ranks);
      fit(request);
      if (ranks.is_first()) count = exchanges_of(ranks);
    });
    return count;
  };
  // How often they agree on what is due follows the clock.
  const int64_t here = exchanges(false, 16 * 60) - exchanges(false, 16 * 30);
  const int64_t later = exchanges(true, 16 * 60) - exchanges(true, 16 * 30);
  CHECK(here >= 30);
  CHECK(std::abs(later - here) < 15);
}

TEST_CASE("a checkpoint of several ranks reads the device once on each") {
  const Str folder = (std::filesystem::temp_directory_path() / fmt::format("ltr-once-{}", getpid())).string();
  const auto reads = [&](const std::vector<Value>& callbacks) {
    const OnFakeDevice there;
    const int64_t before = host_reads();
    as_two([&](const Ranks& ranks) {
      Run run({}, 64, 16);
      run.trainer.epochs = 1;
      run.run_dir = folder;
      run.callbacks = callbacks;
      RunRequest request = run.request(ranks);
      fit(request);
    });
    return host_reads() - before;
  };
  const int64_t without = reads({});
  const int64_t with = reads({Value::call("Checkpoint", {{"async", true, "bool", {}}})});
  std::map<Str, at::Tensor> tensors = read_tensors(folder + "/checkpoints/last/weights.safetensors");
  tensors.merge(read_tensors(folder + "/checkpoints/last/train.safetensors"));
  // The first rank copies all of them to its shelf, which is no read; the other one compares them.
  const auto all = int64_t(tensors.size());
  CHECK(with - without >= all);
  CHECK(with - without < all + all / 2);
  std::filesystem::remove_all(folder);
}

TEST_CASE("a loss that is not finite on one rank holds back both, and each host learns whose it was") {
  const OnFakeDevice there;
  std::array<Option<Error>, 2> errors;
  std::array<at::Tensor, 2> weights;
  as_two([&](const Ranks& ranks) {
    Run run;
    run.poison = ranks.is_first() ? -1 : 2;
    RunRequest request = run.request(ranks);
    try {
      fit(request);
    } catch (const Error& error) {
      errors[size_t(ranks.rank())] = error;
    }
    weights[size_t(ranks.rank())] = weights_of(run.root);
  });
  for (const Option<Error>& error : errors) {
    REQUIRE(error);
    CHECK(error->code == Str("R4001"));
    CHECK(error->message.ends_with("at step 3"));
  }
  CHECK(errors[0]->is_of_another);
  CHECK_FALSE(errors[1]->is_of_another);
  CHECK(at::equal(weights[0], weights[1]));
  CHECK(weights[0].isfinite().all().item<bool>());
}

TEST_CASE("raise looks at every batch, on a device too") {
  Run run;
  run.poison = 3;
  run.trainer.nan = "raise";
  const Done stopped = done(run, true);
  CHECK(stopped.error.starts_with("R4001"));
  CHECK(run.progress.batches == 3);
}

TEST_CASE("f16: an overflow drops one update and halves the scale, and the count of updates stands still") {
  const OnFakeDevice there;
  set_precision("f16");
  LossScale scale;
  CHECK(scale.is_on());
  const auto unscaled = [&](float gradient) {
    const std::vector<at::Tensor> grads{at::full({3}, gradient)};
    const bool overflows = scale.unscale(grads).item<float>() != 0;
    scale.end_window();
    return std::pair(grads[0][0].item<float>(), overflows);
  };
  CHECK(scale.begin(at::ones({}), 0.5).item<double>() == LossScale::kFirst / 2);
  const auto [one, is_found] = unscaled(65536);
  CHECK(one == 1);
  CHECK(!is_found);
  CHECK(scale.scale().item<double>() == LossScale::kFirst);
  CHECK(unscaled(INFINITY).second);
  CHECK(scale.scale().item<double>() == LossScale::kFirst / 2);
  for (int64_t i = 0; i < LossScale::kGoodWindows; i++) unscaled(1);
  CHECK(scale.scale().item<double>() == LossScale::kFirst);
  CheckpointData data;
  SaveArchive saved(data);
  unscaled(INFINITY);
  unscaled(1);
  scale.visit(saved);
  LossScale other;
  LoadArchive loaded(data);
  other.visit(loaded);
  CHECK(other.scale().item<double>() == LossScale::kFirst / 2);
  set_precision("f32");
}

TEST_CASE("f16 trains: narrow products, weights in f32, and the first windows may overflow") {
  Run wide, narrow;
  const Done expected = done(wide, false);
  Done late;
  {
    const OnFakeDevice there;
    set_precision("f16");
    RunRequest request = narrow.request();
    late.report = fit(request);
    late.weights = weights_of(narrow.root);
    set_precision("f32");
  }
  CHECK(late.report.steps == expected.report.steps);
  CHECK(late.weights.dtype() == at::kFloat);
  CHECK(late.weights.isfinite().all().item<bool>());
  CHECK(at::allclose(late.weights, expected.weights, 0, 0.05));
}

TEST_CASE("an update that is held back leaves weights, states and counts as they were") {
  const OnFakeDevice there;
  for (const Str rule : kRules) {
    if (!moves_all(rule)) continue;
    CAPTURE(rule);
    Run run(with_rule(rule.c_str()));
    Optimizer& opt = *run.model->opt;
    const auto give_grads = [&](float value) {
      for (const Weight& weight : opt.weights())
        In(weight.tensor)->mutable_grad() = at::full_like(In(weight.tensor), value);
    };
    const auto snapshot = [&] {
      CheckpointData data;
      SaveArchive archive(data);
      opt.visit(archive);
      std::vector<at::Tensor> all{weights_of(run.root).to(at::kDouble)};
      for (const NamedTensor& one : data.train) all.push_back(one.tensor.flatten().to(at::kDouble));
      return at::cat(all);
    };
    const NoGrad no_grad;
    give_grads(0.5);
    opt.step(0, at::zeros({}, at::kFloat));
    const at::Tensor before = snapshot();
    give_grads(NAN);
    opt.step(1, at::ones({}, at::kFloat));
    CHECK(at::equal(snapshot(), before));
    give_grads(0.5);
    opt.step(2, at::zeros({}, at::kFloat));
    CHECK(!at::equal(snapshot(), before));
    CHECK(snapshot().isfinite().all().item<bool>());
  }
}

}  // namespace ltr::fake
