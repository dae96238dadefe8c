#include "runtime/train/division.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <map>

#include "doors/scratch.h"
#include "runtime/callbacks/grad_norm.h"
#include "runtime/checkpoint/folder.h"
#include "runtime/checkpoint/load.h"
#include "runtime/tensor/handle.h"
#include "runtime/train/backward.h"
#include "runtime/train/fake_program.h"
#include "runtime/train/fake_ranks.h"
#include "runtime/train/loss_scale.h"
#include "runtime/train/root_state.h"
#include "runtime/train/trainer.h"

namespace ltr::fake {

namespace {

namespace fs = std::filesystem;

/// How a run of some ranks goes.
struct Course {
  Mlp::Options options;
  DivisionPlan plan;
  int64_t world = 2;
  int64_t accumulate = 1;
  int64_t epochs = 2;
  std::vector<Value> callbacks;
  Str run_dir;
  Str resume;
};

/// What it ends with on one rank.
struct End {
  std::vector<double> weights;
  Named last;
};

/// A small bucket, so that there are several.
constexpr int64_t kBucket = 600;

End train_as(const Ranks& ranks, const Course& course) {
  Run run(course.options);
  run.trainer.epochs = course.epochs;
  run.trainer.accumulate = course.accumulate;
  run.callbacks = course.callbacks;
  if (!course.run_dir.empty()) run.callbacks.push_back(Value::call("Checkpoint", {}));
  run.run_dir = course.run_dir;
  run.resume = course.resume;
  RunRequest one = run.request();
  RunRequest request{one.program, one.experiment, one.data,    one.model, one.root,   one.trainer, one.callbacks,
                     nullptr,     one.progress,   one.run_dir, "",        one.resume, {},          ranks};
  request.travel.bucket_bytes = kBucket;
  request.division = course.plan;
  // Each rank has batches of its own.
  request.make_feed = [&](size_t stream) {
    return std::make_unique<Points>(stream == 0 ? 96 : 48, 16, run.model->options.inputs,
                                    10 * stream + uint64_t(ranks.rank()));
  };
  End end;
  end.last = fit(request).last;
  for (const Entry& entry : run.root.weights()) {
    const at::Tensor values = whole_value(aten(entry.tensor)).detach().flatten().to(at::kDouble);
    end.weights.insert(end.weights.end(), values.const_data_ptr<double>(),
                       values.const_data_ptr<double>() + values.numel());
  }
  return end;
}

std::vector<End> train(const Course& course) {
  std::vector<End> ends(static_cast<size_t>(course.world));
  as_ranks(course.world, [&](const Ranks& ranks) { ends[size_t(ranks.rank())] = train_as(ranks, course); });
  return ends;
}

void check_close(const std::vector<double>& found, const std::vector<double>& wanted, double tolerance = 2e-5) {
  REQUIRE(found.size() == wanted.size());
  double most = 0;
  for (size_t i = 0; i < found.size(); i++) most = std::max(most, std::abs(found[i] - wanted[i]));
  CHECK(most < tolerance);
}

std::vector<double> values(const Named& named) {
  std::vector<double> list;
  for (const auto& [name, value] : named) list.push_back(value);
  return list;
}

/// Names and sizes.
std::map<Str, std::vector<int64_t>> shapes(const std::map<Str, at::Tensor>& tensors) {
  std::map<Str, std::vector<int64_t>> all;
  for (const auto& [name, tensor] : tensors) all[name] = tensor.sizes().vec();
  return all;
}

/// With those that are in parts put together.
std::map<Str, at::Tensor> put_together(StoredState state) {
  for (const auto& [name, parted] : state.parted) state.tensors.emplace(name, parted.whole());
  return std::move(state.tensors);
}

/// Weights for each layer by itself.
DivisionPlan dividing(Divides what, int64_t replicas = 1) { return {what, "Linear", replicas}; }

constexpr Divides kDivisions[] = {Divides::States, Divides::Gradients, Divides::Weights};

const Value kAdam = Value::call("Adam", {{"lr", 1e-2, "float", {}}});

}  // namespace

TEST_CASE("the chunks of a unit have every element once; what is to stay whole lies in one of them") {
  std::vector<at::Tensor> weights;
  for (const int64_t size : {300, 7, 129, 16, 1}) weights.push_back(at::zeros({size}));
  for (const int64_t ranks : {1, 2, 3, 4, 7}) {
    for (const bool keeps_whole : {false, true}) {
      const Unit unit(weights, keeps_whole, ranks);
      const at::Tensor row = at::zeros({unit.size()});
      for (size_t i = 0; i < weights.size(); i++) {
        unit.in_row(row, i).add_(1);
        int64_t end = 0;
        for (int64_t rank = 0; rank < ranks; rank++) {
          const Stretch own = unit.stretch(i, rank);
          if (own.size() == 0) continue;
          CHECK(own.begin == end);
          end = own.end;
          if (keeps_whole) CHECK(own.size() == weights[i].numel());
          const at::Tensor part = unit.in_chunk(row.narrow(0, rank * unit.chunk(), unit.chunk()), i, rank);
          CHECK(part.numel() == own.size());
          CHECK(part.min().item<float>() == 1);
        }
        CHECK(end == weights[i].numel());
      }
      CHECK(row.max().item<float>() == 1);
      CHECK(row.sum().item<float>() == 453);
    }
  }
}

TEST_CASE("ranks scatter and gather in their order, by themselves in groups") {
  as_ranks(4, [](const Ranks& ranks) {
    const auto own = double(ranks.rank());
    const at::Tensor part = at::empty({2}), whole = at::empty({8});
    ranks.begin_scatter(part, at::arange(8, at::kFloat) + own)->wait();
    CHECK(part.equal(at::arange(2, at::kFloat) * 4 + float(8 * own) + 6));
    ranks.begin_gather(whole, part)->wait();
    CHECK(whole.equal(at::arange(8, at::kFloat) * 4 + 6));
    const int64_t pair = ranks.rank() % 2;
    const std::unique_ptr<Ranks> group = ranks.among({pair, pair + 2});
    CHECK(group->world() == 2);
    CHECK(group->rank() == ranks.rank() / 2);
    double sum = own;
    group->sum({&sum, 1});
    CHECK(sum == double(2 * pair + 2));
  });
}

TEST_CASE("ranks that divide states, gradients or weights move weights as ranks that hold all of them") {
  const std::vector<Value> rules = {kAdam,
                                    Value::call("SGD", {{"lr", 0.1, "float", {}}, {"momentum", 0.9, "float", {}}}),
                                    Value::call("NAdam", {{"lr", 1e-2, "float", {}}}),
                                    Value::call("RMSprop", {}),
                                    Value::call("Lamb", {{"lr", 1e-2, "float", {}}}),
                                    Value::call("Adafactor", {})};
  for (const Value& rule : rules) {
    CAPTURE(rule.text);
    Course course;
    course.options.rule = rule;
    course.options.settings = {{"clip_norm", 0.3, "float", {}}};
    for (const int64_t world : {2, 3}) {
      course.world = world;
      course.plan = {};
      const End whole = train(course).front();
      for (const Divides what : kDivisions) {
        course.plan = dividing(what);
        const std::vector<End> ends = train(course);
        check_close(ends[0].weights, whole.weights);
        check_close(values(ends[0].last), values(whole.last));
        for (const End& end : ends) CHECK(end.weights == ends[0].weights);
      }
    }
  }
}

TEST_CASE("accumulated gradients and averages of divided weights are those of whole ones") {
  Course course;
  course.accumulate = 3;
  course.callbacks.push_back(Value::call("Ema", {{"decay", 0.5, "float", {}}}));
  const End whole = train(course).front();
  for (const Divides what : kDivisions) {
    course.plan = dividing(what);
    const End end = train(course).front();
    check_close(end.weights, whole.weights);
    check_close(values(end.last), values(whole.last));
  }
}

TEST_CASE("norms of divided gradients are of all of them, and whoever asks gets them whole") {
  as_ranks(3, [](const Ranks& ranks) {
    Run run;
    RootState& root = run.root.state();
    GradientTravel travel;
    travel.bucket_bytes = kBucket;
    root.division = std::make_unique<Division>(dividing(Divides::Gradients), root, ranks, travel);
    Optimizer& optimizer = *run.model->opt;
    const auto sum = root.division->sum_gradients(optimizer);
    std::vector<at::Tensor> summed;
    for (const Weight& weight : optimizer.weights()) {
      const In tensor(weight.tensor);
      const at::Tensor numbers = at::arange(tensor->numel(), at::kFloat).view(tensor->sizes());
      tensor->mutable_grad() = numbers * float(ranks.rank() + 1);
      summed.push_back(numbers * 6.0F);
    }
    sum->during([] {});
    const std::vector<at::Tensor> found = optimizer.whole_gradients();
    for (size_t i = 0; i < summed.size(); i++) CHECK(found[i].equal(summed[i]));
    const double norm = at::linalg_vector_norm(at::stack(at::_foreach_norm(summed, 2))).item<double>();
    CHECK(optimizer.measure_norm() == doctest::Approx(norm));
    for (const double p : {0.0, 1.0, 2.0, 3.0, double(INFINITY)}) {
      const GradNorm per_weight(Value::call("GradNorm", {{"per", Value::symbol("weight"), "", {}}, {"p", p, "", {}}}));
      Named norms;
      const int64_t before = exchanges_of(ranks);
      per_weight.measure(optimizer, norms);
      CHECK(exchanges_of(ranks) == before + 1);
      REQUIRE(norms.size() == summed.size());
      for (size_t i = 0; i < summed.size(); i++) {
        CHECK(norms[i].second == doctest::Approx(at::linalg_vector_norm(summed[i], p).item<double>()));
      }
    }
    // The last weight alone has a gradient again: a further sum adds to what is there.
    In(optimizer.weights().back().tensor)->mutable_grad() = at::ones_like(summed.back());
    sum->during([] {});
    CHECK(optimizer.whole_gradients().back().equal(summed.back() + 3.0F));
    sum->drop(aten(optimizer.weights().front().tensor));
    CHECK_FALSE(optimizer.whole_gradients().front().defined());
    optimizer.zero_grad();
    CHECK(optimizer.measure_norm() == 0);
  });
}

TEST_CASE("what a rank holds of weights, gradients and states is its part of what is divided") {
  for (const Divides what : kDivisions) {
    CAPTURE(int(what));
    std::vector<Division::Held> held(2);
    double weights = 0, states = 0;
    as_ranks(2, [&](const Ranks& ranks) {
      Run run({.hidden = 128});
      RootState& root = run.root.state();
      GradientTravel travel;
      travel.bucket_bytes = kBucket;
      root.division = std::make_unique<Division>(dividing(what), root, ranks, travel);
      held[size_t(ranks.rank())] = root.division->held();
      if (!ranks.is_first()) return;
      for (const Entry& entry : run.root.weights()) weights += double(aten(entry.tensor).numel() * 4);
      states = run.root.optimizers()[0].state_bytes;
    });
    for (const Division::Held& one : held) {
      // Chunks begin at multiples of some elements, so rows are a little longer than what is in them.
      CHECK(one.weights == doctest::Approx(what == Divides::Weights ? weights / 2 : weights).epsilon(0.05));
      CHECK(one.gradients == doctest::Approx(what == Divides::States ? weights : weights / 2).epsilon(0.05));
    }
    CHECK(held[0].states + held[1].states == doctest::Approx(states));
    CHECK(held[0].states == doctest::Approx(states / 2).epsilon(0.1));
  }
}

TEST_CASE("groups of ranks that hold the same, divided within, train as ranks that hold all") {
  Course course;
  course.world = 4;
  course.options.settings = {{"clip_norm", 0.3, "float", {}}};
  const End whole = train(course).front();
  course.plan = dividing(Divides::Weights, 2);
  const std::vector<End> ends = train(course);
  check_close(ends[0].weights, whole.weights);
  check_close(values(ends[0].last), values(whole.last));
  for (const End& end : ends) CHECK(end.weights == ends[0].weights);
}

TEST_CASE("divided weights have no memory of their own, and a graph keeps none of it") {
  as_ranks(2, [](const Ranks& ranks) {
    Run run;
    RootState& root = run.root.state();
    const at::Tensor before = aten(run.model->fc2->weight).detach().clone();
    root.division = std::make_unique<Division>(dividing(Divides::Weights), root, ranks, GradientTravel());
    const at::Tensor weight = aten(run.model->fc2->weight);
    CHECK(weight.storage().nbytes() == 0);
    CHECK(weight.sizes() == before.sizes());
    CHECK_THROWS(weight.sum());
    CHECK(whole_value(weight).equal(before));
    const Tensor loss = sum(run.model->logits(full({4, 8}, 0.5)), {}, false);
    // The rows of the two other layers went when the third one was read.
    const int64_t before_reading = exchanges_of(ranks);
    whole_value(aten(run.model->fc3->weight));
    CHECK(exchanges_of(ranks) == before_reading);
    whole_value(aten(run.model->fc1->weight));
    CHECK(exchanges_of(ranks) == before_reading + 1);
    const LossScale scale;
    const auto backward = [&] { Backward(run.root, scale).run(In(loss), 1, run.model->opt, true); };
    backward();
    CHECK(weight.grad().defined());
    root.division->assign(weight, before + 1);
    CHECK(whole_value(weight).equal(before + 1));
    CHECK_THROWS_WITH_AS(backward(), doctest::Contains("moved between a loss and its backward pass"), Error);
  });
}

TEST_CASE(
    "a checkpoint that ranks write in parts is one of the whole: any division and number of ranks goes on from it") {
  const testing::ScratchFolder folder;
  Course course;
  course.callbacks.push_back(Value::call("Ema", {{"decay", 0.5, "float", {}}}));
  for (const char* rule : {"NAdam", "Adafactor"}) {
    for (const Divides written : {Divides::Gradients, Divides::Weights}) {
      CAPTURE(rule);
      CAPTURE(int(written));
      course.options.rule = Value::call(rule, {});
      course.resume = "";
      course.epochs = 3;
      course.plan = {};
      course.run_dir = fmt::format("{}/whole-{}-{}", folder.path, rule, int(written));
      const End whole = train(course).front();
      const Str wanted = course.run_dir + "/checkpoints/last";
      course.epochs = 2;
      course.plan = dividing(written);
      course.run_dir = fmt::format("{}/divided-{}-{}", folder.path, rule, int(written));
      train(course);
      const Str found = fs::canonical(course.run_dir + "/checkpoints/last").string();
      CHECK(verify_checkpoint(found) == "");
      CHECK(shapes(put_together(read_state(found))) == shapes(put_together(read_state(wanted))));
      CHECK(shapes(read_tensors(tensors_file(found, "weights"))) ==
            shapes(read_tensors(tensors_file(wanted, "weights"))));
      course.resume = found;
      course.epochs = 3;
      for (const Divides what : {Divides::Nothing, Divides::States, Divides::Weights}) {
        course.plan = dividing(what);
        course.run_dir = folder.path + "/resumed";
        fs::remove_all(course.run_dir);
        fs::create_directories(course.run_dir + "/checkpoints");
        fs::copy(found, course.run_dir + "/checkpoints/" + fs::path(found).filename().string(),
                 fs::copy_options::recursive);
        check_close(train(course).front().weights, whole.weights);
      }
    }
  }
}

TEST_CASE("each rank writes its part of a checkpoint, and half a set is refused by name") {
  const testing::ScratchFolder folder;
  Course course;
  course.plan = dividing(Divides::Weights);
  course.run_dir = folder.path;
  train(course);
  const Str path = fs::canonical(folder.path + "/checkpoints/last").string();
  std::vector<Str> names;
  for (const fs::directory_entry& entry : fs::directory_iterator(path))
    names.push_back(entry.path().filename().string());
  std::ranges::sort(names);
  CHECK(names == std::vector<Str>{"checkpoint.json", "model.safetensors.index.json", "train-0.safetensors",
                                  "train-1.safetensors", "train.safetensors", "weights-00001-of-00002.safetensors",
                                  "weights-00002-of-00002.safetensors"});
  // No rank has more than its part; chunks of the three units are rounded up to 16 elements.
  uint64_t bytes = 0;
  for (const auto& [name, tensor] : read_tensors(path + "/train-0.safetensors")) bytes += tensor.nbytes();
  CHECK(bytes <= 2 * 4 * (8 * 16 + 16 + 16 * 16 + 16 + 16 * 2 + 2) / 2 + 3 * 16 * 8);
  for (const Str& name : {Str("train-1.safetensors"), Str("weights-00002-of-00002.safetensors")}) {
    fs::rename(path + "/" + name, folder.path + "/" + name);
    CHECK(verify_checkpoint(path) == name + " is missing");
    course.resume = path;
    course.epochs = 3;
    course.plan = {};
    CHECK_THROWS_WITH_AS(train(course), doctest::Contains(name.c_str()), Error);
    fs::rename(folder.path + "/" + name, path + "/" + name);
  }
}

}  // namespace ltr::fake
