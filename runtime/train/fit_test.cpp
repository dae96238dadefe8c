#include <doctest/doctest.h>

#include <ATen/ATen.h>
#include <ATen/Parallel.h>

#include <cmath>
#include <csignal>
#include <ctime>
#include <filesystem>
#include <fstream>

#include "doors/scratch.h"
#include "runtime/checkpoint/folder.h"
#include "runtime/tensor/handle.h"
#include "runtime/tensor/host_read.h"
#include "runtime/tensor/random.h"
#include "runtime/train/fake_program.h"
#include "runtime/train/metric_inputs.h"
#include "runtime/train/trainer.h"

namespace ltr::fake {

namespace fs = std::filesystem;

Points::Points(int64_t samples, int64_t size, int64_t inputs, uint64_t salt)
    : samples_(samples), size_(size), inputs_(inputs), salt_(salt) {}

bool Points::next(Batch& batch) {
  if (next_ >= Points::batches(epoch_)) return false;
  const NoGrad no_grad;
  seed_random(random_key(salt_, "points", {uint64_t(epoch_), uint64_t(next_)}));
  batch.size = Points::batch_samples(epoch_, next_);
  const Tensor x = uniform({batch.size, inputs_}, -1, 1);
  batch.fields = {x, to(gt(sum(x, 1, false), Scalar(0)), DType::I64)};
  if (next_ == poison)
    In(x)->index_put_({at::zeros({1}, at::kLong), at::zeros({1}, at::kLong)}, at::scalar_tensor(NAN));
  next_++;
  return true;
}

Run::Run(Mlp::Options options, int64_t sample_count, int64_t batch_size, bool is_lean)
    : program{"fake", 1, "hash", "test", {}, {}, {}, {}, {}, {}, {}}, root(7), samples(sample_count), size(batch_size) {
  program.logs = {{"loss", Role::Train, LogKind::Scalar, LogWhen::Step, Reduce::Mean, true, {}},
                  {"loss", Role::Val, LogKind::Scalar, LogWhen::Epoch, Reduce::Mean, false, {}},
                  {"acc", Role::Val, LogKind::Metric, LogWhen::Epoch, Reduce::Mean, true, {}},
                  {"acc", Role::Train, LogKind::Metric, LogWhen::Both, Reduce::Mean, false, {}}};
  for (LogInfo& log : program.logs) log.better = log.kind == LogKind::Metric ? "max" : "min";
  experiment.name = "fake";
  experiment.data = "Points";
  experiment.model = "Mlp";
  experiment.steps = {
      {"train", Role::Train, is_lean ? train_step_lean : train_step, {0, 1}, {}, {0, 3}, true, true, false, {}},
      {"val", Role::Val, val_step, {0, 1}, {}, {1, 2}, false, false, false, {}}};
  data.batch = {{"x", DType::Float, {-1, options.inputs}}, {"label", DType::I64, {-1}}};
  data.streams.push_back({Role::Train, "", {}, {}});
  data.streams.push_back({Role::Val, "", {}, {}});
  model = Scope::make<Mlp>(root.scope(), "Mlp", options);
  root.finish();
  trainer.epochs = 3;
  trainer.sanity_val = 0;
}

RunRequest Run::request(const Ranks& ranks) {
  RunRequest request{program, experiment, data,    *model, root,   trainer, callbacks,
                     nullptr, progress,   run_dir, "",     resume, {},      ranks};
  request.make_feed = [this](size_t stream) {
    auto points = std::make_unique<Points>(stream == 0 ? samples : 50, size, model->options.inputs, stream);
    if (stream == 0) points->poison = poison;
    return points;
  };
  return request;
}

namespace {

Value call(const char* name, std::vector<Argument> arguments) { return Value::call(name, std::move(arguments)); }

std::vector<float> bits(const ModelRoot& root) {
  std::vector<float> all;
  for (const Entry& entry : root.weights()) {
    const at::Tensor flat = In(entry.tensor)->detach().flatten().contiguous();
    all.insert(all.end(), flat.const_data_ptr<float>(), flat.const_data_ptr<float>() + flat.numel());
  }
  return all;
}

double value_of(const std::vector<std::pair<Str, double>>& values, const Str& name) {
  for (const auto& [key, value] : values) {
    if (key == name) return value;
  }
  return NAN;
}

}  // namespace

TEST_CASE("an MLP learns, and a second run gives the same bits") {
  Run a, b;
  a.trainer.epochs = b.trainer.epochs = 20;
  RunRequest request_a = a.request(), request_b = b.request();
  const FitReport report = fit(request_a);
  fit(request_b);
  CHECK(report.exit_code == 0);
  CHECK(report.steps == 20 * 7);
  CHECK(report.epochs == 20);
  CHECK(value_of(report.last, "val.acc") > 0.85);
  CHECK(value_of(report.last, "val.loss") < 0.4);
  CHECK(bits(a.root) == bits(b.root));
}

TEST_CASE("accumulated windows equal the joined batch, uneven ends included") {
  // 100 samples in batches of 8 by 2 and in batches of 16: the same windows.
  Mlp::Options sgd;
  sgd.rule = call("SGD", {{"lr", 0.1, "float", {}}});
  Run joined(sgd, 96, 16), split(sgd, 96, 8);
  split.trainer.accumulate = 2;
  joined.trainer.epochs = split.trainer.epochs = 1;
  // The same samples: the fake draws by batch, so compare through one window of one batch each.
  RunRequest request_joined = joined.request();
  RunRequest request_split = split.request();
  request_split.make_feed = [&](size_t stream) -> std::unique_ptr<Feed> {
    struct Halves : Points {
      using Points::Points;
      int64_t batches(int64_t epoch) override { return 2 * Points::batches(epoch); }
      int64_t batch_samples(int64_t, int64_t batch) override { return batch % 2 == 0 ? 10 : 6; }
      int64_t number() override { return 2 * Points::number() + 1 - half; }
      bool next(Batch& batch) override {
        if (half == 0 && !Points::next(whole)) return false;
        const int64_t begin = half == 0 ? 0 : 10, count = half == 0 ? 10 : 6;
        batch.size = count;
        batch.fields = {whole.fields[0].narrow(0, begin, count), whole.fields[1].narrow(0, begin, count)};
        half = 1 - half;
        return true;
      }
      Batch whole;
      int half = 0;
    };
    return std::make_unique<Halves>(96, 16, 8, stream);
  };
  fit(request_joined);
  const FitReport report = fit(request_split);
  CHECK(report.steps == 6);
  const std::vector<float> a = bits(joined.root), b = bits(split.root);
  REQUIRE(a.size() == b.size());
  for (size_t i = 0; i < a.size(); i++) CHECK(a[i] == doctest::Approx(b[i]).epsilon(1e-5));
}

TEST_CASE("a resumed run ends with the bits of the undisturbed one") {
  for (const int64_t stop_at : {3, 7, 10, 14}) {
    CAPTURE(stop_at);
    Mlp::Options options;
    options.dropout = 0.3;
    options.settings = {{"schedule", call("cosine", {{"warmup", Value::steps(4), "period", {}}}), "schedule", {}},
                        {"clip_norm", 1.0, "float", {}}};
    const auto run = [&](Run& run, const Str& folder, const Str& resume) {
      run.trainer.epochs = 4;
      run.run_dir = folder;
      run.resume = resume;
      run.callbacks = {
          call("Checkpoint",
               {{"every", Value::steps(double(stop_at)), "period", {}}, {"keep", Value::symbol("all"), "", {}}}),
          call("EarlyStop", {{"monitor", Value::series("val.loss"), "series", {}}, {"patience", 100, "int", {}}})};
      RunRequest request = run.request();
      return fit(request);
    };
    testing::ScratchFolder whole_folder, resumed_folder;
    Run whole(options), resumed(options);
    const FitReport expected = run(whole, whole_folder.path, "");
    const Str saved = fmt::format("{}/checkpoints/step{:07}", whole_folder.path, stop_at);
    REQUIRE(fs::exists(saved));
    const FitReport report = run(resumed, resumed_folder.path, saved);
    CHECK(report.steps == expected.steps);
    CHECK(bits(whole.root) == bits(resumed.root));
    CHECK(report.last == expected.last);
    // Optimizer state and log state too.
    const auto a = read_tensors(expected.last_checkpoint + "/train.safetensors");
    const auto b = read_tensors(report.last_checkpoint + "/train.safetensors");
    REQUIRE(a.size() == b.size());
    for (const auto& [name, tensor] : a) CHECK(at::equal(tensor, b.at(name)));
  }
}

TEST_CASE("a run has begun when everything is accepted, and not before") {
  // Whoever made a folder for it may drop it until then, and never after.
  bool has_begun = false;
  const auto begins = [&] { has_begun = true; };
  Run refused;
  refused.callbacks = {call("Frobnicate", {})};
  RunRequest wrong = refused.request();
  CHECK_THROWS_AS(fit(wrong, begins), Error);
  CHECK_FALSE(has_begun);
  Run accepted;
  RunRequest right = accepted.request();
  CHECK(fit(right, begins).steps > 0);
  CHECK(has_begun);
}

TEST_CASE("Checkpoint keeps the best and the newest") {
  testing::ScratchFolder folder;
  Run run;
  run.trainer.epochs = 6;
  run.run_dir = folder.path;
  run.callbacks = {call("Checkpoint",
                        {{"monitor", Value::series("val.acc"), "series", {}}, {"mode", Value::symbol("max"), "", {}}})};
  RunRequest request = run.request();
  const FitReport report = fit(request);
  REQUIRE(report.best.size() == 1);
  CHECK(fs::exists(report.best[0].path));
  CHECK(find_checkpoint(folder.path, "best") == report.best[0].path);
  CHECK(find_checkpoint(folder.path, "last") == report.last_checkpoint);
  CHECK(list_checkpoints(folder.path).size() <= 2);

  SUBCASE("a flipped byte is found") {
    const Str file = report.last_checkpoint + "/weights.safetensors";
    std::fstream stream(file, std::ios::in | std::ios::out | std::ios::binary);
    stream.seekp(-1, std::ios::end);
    stream.put('\x7f');
    stream.close();
    CHECK(verify_checkpoint(report.last_checkpoint) == "weights.safetensors does not have its digest");
    Run other;
    try {
      load_weights(other.root, report.last_checkpoint);
      FAIL("loaded");
    } catch (const Error& error) {
      CHECK(error.code == "R2011");
    }
  }
  SUBCASE("weights load, and a misfit is listed") {
    Run same;
    load_weights(same.root, report.last_checkpoint);
    CHECK(bits(same.root) == bits(run.root));
    Mlp::Options wide;
    wide.hidden = 20;
    Run other(wide);
    try {
      load_weights(other.root, report.last_checkpoint);
      FAIL("loaded");
    } catch (const Error& error) {
      CHECK(error.code == "R2010");
      CHECK(error.message.find("net.fc1.weight is f32[16, 8] there, f32[20, 8] here") != Str::npos);
    }
  }
}

TEST_CASE("EarlyStop ends training and says why") {
  Run run;
  run.trainer.epochs = 100;
  run.callbacks = {call("EarlyStop", {{"monitor", Value::series("val.acc"), "series", {}},
                                      {"mode", Value::symbol("max"), "", {}},
                                      {"threshold", 0.8, "float", {}}})};
  RunRequest request = run.request();
  const FitReport report = fit(request);
  CHECK(report.outcome == "early stop");
  CHECK(report.epochs < 100);
  CHECK(report.reason.find("passed the threshold") != Str::npos);
}

TEST_CASE("numbers that are not finite stop, or skip the update") {
  Run stops;
  stops.poison = 3;
  RunRequest request = stops.request();
  try {
    fit(request);
    FAIL("finished");
  } catch (const Error& error) {
    CHECK(error.code == "R4001");
    CHECK(error.exit_code() == 4);
    CHECK(error.location.line == 11);
  }
  for (const float weight : bits(stops.root)) CHECK(std::isfinite(weight));

  Run skips;
  skips.poison = 3;
  skips.trainer.nan = "skip";
  RunRequest skip_request = skips.request();
  const FitReport report = fit(skip_request);
  CHECK(report.skipped_updates == 3);
  CHECK(report.steps == 21);
  for (const float weight : bits(skips.root)) CHECK(std::isfinite(weight));
}

TEST_CASE("a metric that is given nan is told once an epoch") {
  Run trains;
  trains.poison = 3;
  trains.trainer.nan = "skip";
  RunRequest request = trains.request();
  fit(request);
  const Str sentence =
      "train: the metric accuracy was given numbers that are not finite (batch_index 3): "
      "its value cannot be trusted";
  CHECK(trains.progress.warnings == std::vector<Str>{sentence, sentence, sentence});

  // Weights that are nan give logits that are: an accuracy is an ordinary number all the same.
  Run evaluates;
  const NoGrad no_grad;
  In(evaluates.model->fc3->bias)->fill_(NAN);
  RunRequest evaluation = evaluates.request();
  const EvalReport report = evaluate(evaluation, Role::Val);
  CHECK(std::isfinite(value_of(report.streams.at(0).values, "acc")));
  REQUIRE(evaluates.progress.warnings.size() == 1);
  CHECK(
      evaluates.progress.warnings[0].starts_with("val: the metric accuracy was given numbers that are not finite "
                                                 "(4 batches, the first with batch_index 0)"));
}

TEST_CASE("what a metric was given before a stop is told after it") {
  Run run;
  RunRequest request = run.request();
  MetricInputs before(request), after(request);
  for (const int64_t stream : {0, 7}) before.look("accuracy", stream, 3, at::full({2}, NAN));
  CheckpointData data;
  SaveArchive saved(data);
  before.visit(saved);
  LoadArchive loaded(data);
  after.visit(loaded);
  CHECK(after.tell(Role::Train).size() == 1);
}

TEST_CASE("a round weighs its batches as `weigh` says") {
  Run run(Mlp::Options{}, 56, 8);
  const auto loss = [&](int64_t batches, Value weigh) {
    run.trainer.weigh = std::move(weigh);
    RunRequest request = run.request();
    request.flags.fast_dev_run = batches;
    return value_of(evaluate(request, Role::Val).streams.at(0).values, "loss");
  };
  double ones[2];  // labels that count
  Points points(50, 8, run.model->options.inputs, 1);
  Batch batch;
  for (double& count : ones) {
    REQUIRE(points.next(batch));
    count = at::sum(*In(batch.fields[1])).item<double>();
  }
  REQUIRE(ones[0] != ones[1]);
  const double first = loss(1, Value::symbol("samples"));
  const double second = 2 * loss(2, Value::symbol("batches")) - first;
  const double counted = loss(2, call("count", {{"", Value("label")}, {"ignore", Value(0)}}));
  CHECK(counted == doctest::Approx((ones[0] * first + ones[1] * second) / (ones[0] + ones[1])).epsilon(1e-5));
}

TEST_CASE("SIGINT finishes the window, saves, and says 130") {
  testing::ScratchFolder folder;
  Run run;
  run.run_dir = folder.path;
  run.callbacks = {call("Checkpoint", {})};
  RunRequest request = run.request();
  const auto make = request.make_feed;
  request.make_feed = [&](size_t stream) -> std::unique_ptr<Feed> {
    struct Interrupts : Points {
      using Points::Points;
      bool next(Batch& batch) override {
        if (++calls == 5) std::raise(SIGINT);
        return Points::next(batch);
      }
      int calls = 0;
    };
    return stream == 0 ? std::make_unique<Interrupts>(100, 16, 8, stream) : make(stream);
  };
  const FitReport report = fit(request);
  CHECK(report.exit_code == 130);
  CHECK(report.steps == 5);
  CHECK(find_checkpoint(folder.path, "last") == folder.path + "/checkpoints/step0000005");
}

TEST_CASE("between recorded steps the host reads nothing from the device") {
  const auto reads_of = [](int64_t sample_count) {
    Mlp::Options options;
    options.settings = {{"clip_norm", 1.0, "float", {}}};
    Run run(options, sample_count, 16);
    run.trainer.epochs = 1;
    run.trainer.log_every = 1 << 20;
    RunRequest request = run.request();
    const int64_t before = host_reads();
    fit(request);
    return host_reads() - before;
  };
  // Four times as many steps, each with two logs, a metric, clipping and the test for numbers that are not finite.
  const int64_t reads = reads_of(160);
  CHECK(reads > 0);
  CHECK(reads_of(640) == reads);
}

TEST_CASE("what this version lacks is an error that names it") {
  const auto code_of = [](Run& run) -> Str {
    try {
      RunRequest request = run.request();
      fit(request);
    } catch (const Error& error) {
      return error.code + ": " + error.message;
    }
    return "none";
  };
  Run callback, nan, monitor;
  callback.callbacks = {call("Frobnicate", {})};
  CHECK(code_of(callback) == "R2002: no setting callback Frobnicate in this version");
  nan.trainer.nan = "explode";
  CHECK(code_of(nan).find("stop, skip or raise") != Str::npos);
  monitor.callbacks = {call("EarlyStop", {{"monitor", Value::series("val.accuracy"), "series", {}}})};
  CHECK(code_of(monitor).find("monitor = val.accuracy") != Str::npos);
  CHECK_THROWS_AS(
      [] {
        Mlp::Options options;
        options.rule = call("ASGD", {});
        Run run(options);
      }(),
      Error);
}

// runtime_tests --no-skip -tc='time of a step*'
TEST_CASE("time of a step of an MLP 32-64-64-2, batch 64, Adam" * doctest::skip()) {
  at::set_num_threads(1);
  Mlp::Options options;
  options.inputs = 32;
  options.hidden = 64;
  Run run(options, 64 * 1000, 64, true);
  run.trainer.epochs = 21;
  run.trainer.sanity_val = 0;
  struct Ready : Points {
    using Points::Points;
    bool next(Batch& batch) override {
      if (place >= 1000) return false;
      if (!made) {
        Points::start(0, 0);
        Points::next(kept);
        made = true;
      }
      place++;
      batch = kept;
      return true;
    }
    void start(int64_t, int64_t) override { place = 0; }
    Batch kept;
    bool made = false;
    int64_t place = 0;
  };
  RunRequest request = run.request();
  request.make_feed = [&](size_t stream) { return std::make_unique<Ready>(64 * 1000, 64, 32, stream); };
  run.trainer.val_every = Value::epochs(1000);
  request.trainer = run.trainer;
  const std::clock_t begin = std::clock();
  const FitReport report = fit(request);
  MESSAGE("us of CPU time per step: " << double(std::clock() - begin) / CLOCKS_PER_SEC / double(report.steps) * 1e6);
  MESSAGE("us per step: " << report.train_s / double(report.steps) * 1e6 << " (" << report.steps << " steps, val "
                          << report.val_s << " s)");
}

}  // namespace ltr::fake
