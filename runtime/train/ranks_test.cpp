#include "runtime/train/ranks.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <numeric>

#include "ltr/streams.h"
#include "runtime/data/loader.h"
#include "runtime/tensor/handle.h"
#include "runtime/train/fake_program.h"
#include "runtime/train/fake_ranks.h"
#include "runtime/train/session.h"
#include "runtime/train/trainer.h"

namespace ltr::fake {

namespace {

namespace fs = std::filesystem;

FitReport run_as(const Ranks& ranks, const Str& folder, int64_t poison = -1) {
  Run run;
  run.poison = poison;
  run.run_dir = folder;
  run.callbacks = {Value::call("Checkpoint", {})};
  RunRequest request = run.request(ranks);
  return fit(request);
}

std::vector<int64_t> numbers(data::Loader& loader) {
  std::vector<int64_t> all;
  loader.start(0);
  for (Batch batch; loader.next(batch);) {
    const at::Tensor field = aten(batch.fields[0]);
    all.insert(all.end(), field.const_data_ptr<int64_t>(), field.const_data_ptr<int64_t>() + field.numel());
  }
  return all;
}

}  // namespace

TEST_CASE("the first rank alone writes checkpoints; two that see the same have what one has") {
  const Str base = (fs::temp_directory_path() / fmt::format("ltr-ranks-{}", getpid())).string();
  const FitReport alone = run_as(one_rank(), base + "/alone");
  std::array<FitReport, 2> reports;
  as_two([&](const Ranks& ranks) {
    reports[size_t(ranks.rank())] = run_as(ranks, base + (ranks.is_first() ? "/first" : "/second"));
  });
  CHECK(fs::exists(base + "/first/checkpoints/last"));
  CHECK_FALSE(fs::exists(base + "/second/checkpoints"));
  for (const FitReport& report : reports) {
    REQUIRE(report.last.size() == alone.last.size());
    for (size_t i = 0; i < alone.last.size(); i++) {
      CHECK(report.last[i].first == alone.last[i].first);
      CHECK(report.last[i].second == doctest::Approx(alone.last[i].second).epsilon(1e-5));
    }
  }
  CHECK(reports[0].last == reports[1].last);
  fs::remove_all(base);
}

TEST_CASE("a loss that is not finite on one rank ends both before an update, with what the other one says") {
  const Str base = (fs::temp_directory_path() / fmt::format("ltr-poison-{}", getpid())).string();
  std::array<Option<Error>, 2> errors;
  as_two([&](const Ranks& ranks) {
    try {
      run_as(ranks, base, ranks.is_first() ? -1 : 2);
    } catch (const Error& error) {
      errors[size_t(ranks.rank())] = error;
    }
  });
  for (const Option<Error>& error : errors) {
    REQUIRE(error);
    CHECK(error->code == Str(err::loss_not_finite.code));
  }
  CHECK(errors[0]->is_of_another);
  CHECK_FALSE(errors[1]->is_of_another);
  // Two updates were made, and their weights are kept.
  CHECK(fs::exists(base + "/checkpoints/nonfinite-step0000002"));
  fs::remove_all(base);
}

TEST_CASE("a rank without records joins what the other one has, in epochs and in windows") {
  as_two([](const Ranks& ranks) {
    Run run;
    run.program.logs = {{"mean", Role::Val, LogKind::Scalar, LogWhen::Epoch, Reduce::Mean, true, {}},
                        {"least", Role::Val, LogKind::Scalar, LogWhen::Epoch, Reduce::Min, true, {}},
                        {"most", Role::Val, LogKind::Scalar, LogWhen::Epoch, Reduce::Max, true, {}},
                        {"none", Role::Val, LogKind::Scalar, LogWhen::Epoch, Reduce::Sum, true, {}},
                        {"acc", Role::Val, LogKind::Metric, LogWhen::Epoch, Reduce::Mean, true, {}},
                        {"acc", Role::Train, LogKind::Metric, LogWhen::Both, Reduce::Mean, true, {}},
                        {"loss", Role::Train, LogKind::Scalar, LogWhen::Step, Reduce::Mean, true, {}}};
    LogTable logs(run.program, run.data, *run.model, {0, 1, 2, 3, 4, 5, 6}, ranks);
    const NoGrad no_grad;
    const auto take = [&](int slot, size_t stream, double hits, double seen) {
      Accuracy& accuracy = run.model->accuracy.of(int64_t(stream));
      accuracy.hits = add(accuracy.hits, Scalar(hits));
      accuracy.seen = add(accuracy.seen, Scalar(seen));
      logs.add(slot, stream, accuracy);
    };
    // What the first rank has, the second one lacks, and the other way round in training.
    if (ranks.is_first()) {
      for (const double value : {-3.0, -1.0}) {
        for (const int slot : {0, 1, 2}) logs.add(slot, 1, value, 1);
      }
      take(4, 1, 3, 4);
    }
    Named round;
    int64_t exchanges = exchanges_of(ranks);
    const auto count = [&] { return exchanges_of(ranks) - std::exchange(exchanges, exchanges_of(ranks)); };
    logs.end_epoch(Role::Val, round);
    CHECK(round == Named{{"val/mean", -2}, {"val/least", -3}, {"val/most", -1}, {"val/acc", 0.75}});
    // However much is logged: who has what and all numbers at once, then all states of metrics.
    CHECK(count() == 2);
    Named nothing;
    logs.end_epoch(Role::Val, nothing);
    CHECK(nothing.empty());
    CHECK(count() == 1);

    logs.begin_window(true);
    if (!ranks.is_first()) take(5, 0, 1, 4);
    logs.add(6, 0, ranks.is_first() ? 1.0 : 4.0, ranks.is_first() ? 2.0 : 1.0);
    Named window;
    logs.end_window(true, window);
    CHECK(window == Named{{"train/acc_step", 0.25}, {"train/loss", 2}});
    logs.begin_window(true);
    take(5, 0, 1, 2);
    Named second;
    logs.end_window(true, second);
    CHECK(second == Named{{"train/acc_step", 0.5}});
    Named epoch;
    logs.end_epoch(Role::Train, epoch);
    CHECK(epoch == Named{{"train/acc_epoch", 3.0 / 8}});
  });
}

TEST_CASE("what any rank left out is known to all, and the first writes it down") {
  const fs::path folder = fs::temp_directory_path() / fmt::format("ltr-ranks-out-{}", getpid());
  as_two([&](const Ranks& ranks) {
    Run run;
    run.run_dir = folder.string();
    RunRequest request = run.request(ranks);
    Session session(request, {Role::Train});
    session.verb = "fit";
    const Str place = ranks.is_first() ? "a.csv:1" : "a.csv:2";
    session.take_left_out({{0, 2, {}, place, "no number"}});
    session.tell_left_out();
    CHECK(session.left_out.count() == 2);
    session.tell_left_out();
    // What is one too many is so on both, whoever met the others.
    bool is_refused = false;
    try {
      if (ranks.is_first()) session.take_left_out({{0, 3, {}, "a.csv:3", "no number"}});
      session.share_left_out();
      session.take_left_out({{0, 3, {}, "a.csv:4", "no number"}});
    } catch (const Error& error) {
      is_refused = error.code == err::too_many_bad_records.code;
    }
    CHECK(is_refused);
  });
  std::ifstream file(folder / "faults/bad_records.jsonl");
  const Str lines(std::istreambuf_iterator<char>(file), {});
  CHECK(lines.starts_with(
      "{\"record\":\"a.csv:1\",\"reason\":\"no number\"}\n{\"record\":\"a.csv:2\",\"reason\":\"no number\"}\n"));
  CHECK(std::count(lines.begin(), lines.end(), '\n') == 3);
  fs::remove_all(folder);
}

TEST_CASE("what one rank's metric was given, all tell") {
  as_two([&](const Ranks& ranks) {
    Run run;
    RunRequest request = run.request(ranks);
    MetricInputs inputs(request);
    const Tensor bad = full({2}, NAN), good = full({2}, 1.0);
    for (int64_t batch = 0; batch < 4; batch++) {
      inputs.look("accuracy", 1, batch, In(ranks.is_first() || batch < 2 ? good : bad));
      inputs.look("accuracy", 1, batch, In(ranks.is_first() || batch < 2 ? good : bad));
    }
    CHECK(inputs.tell(Role::Train).empty());
    const std::vector<Str> told = inputs.tell(Role::Val);
    REQUIRE(told.size() == 1);
    CHECK(told[0].find("(2 batches, the first with batch_index 2)") != Str::npos);
    CHECK(inputs.tell(Role::Val).empty());
  });
}

TEST_CASE("ranks share the batches: every one is read once, or in training equally many by each") {
  const auto loader_of = [](int64_t rank, int64_t world, bool is_even, int workers) {
    data::LoaderOptions options;
    options.batch = {{"i", DType::I64, {-1}, ""}};
    options.name = "val";
    options.workers = workers;
    options.rank = rank;
    options.world = world;
    options.is_even = is_even;
    return std::make_unique<data::Loader>(collate(range(17), 2, false), options);
  };
  for (const int64_t world : {1, 2, 3, 4, 12}) {
    std::vector<int64_t> seen;
    for (int64_t rank = 0; rank < world; rank++) {
      const auto loader = loader_of(rank, world, false, int(rank % 2));
      int64_t samples = 0;
      for (int64_t i = 0; i < loader->batches(0); i++) samples += loader->batch_samples(0, i);
      const std::vector<int64_t> own = numbers(*loader);
      CHECK(samples == int64_t(own.size()));
      seen.insert(seen.end(), own.begin(), own.end());
    }
    std::sort(seen.begin(), seen.end());
    REQUIRE(seen.size() == 17);
    for (int64_t i = 0; i < 17; i++) CHECK(seen[size_t(i)] == i);
  }
  // In training all have equally many: 9 batches are 3 turns of 4, and in the last one a rank of its own and three stand in.
  for (int64_t rank = 0; rank < 4; rank++) {
    const auto loader = loader_of(rank, 4, true, 0);
    CHECK(loader->batches(0) == 3);
    CHECK(loader->batch_samples(0, 1) == 2);
    CHECK(loader->batch_samples(0, 2) == (rank == 0 ? 1 : 0));
    loader->start(0);
    for (Batch batch; loader->next(batch);) CHECK(batch.is_stand_in == (loader->number() == 2 && rank > 0));
    // Behind 5 batches of others 4 are left: one turn.
    loader->begin_behind(0, 5);
    CHECK(loader->batches(0) == 1);
    CHECK(loader->batches(1) == 3);
    loader->start(0);
    Batch batch;
    REQUIRE(loader->next(batch));
    CHECK(aten(batch.fields[0])[0].item<int64_t>() == 10 + 2 * rank);
  }
}

TEST_CASE("any number of records: each is read once by one rank, but for those of a batch that is dropped") {
  constexpr int64_t kSize = 3;
  for (int64_t records = 0; records <= 50; records++) {
    for (const bool drops : {false, true}) {
      const int64_t batches = drops ? records / kSize : (records + kSize - 1) / kSize;
      const int64_t kept = drops ? batches * kSize : records;
      for (int64_t world = 1; world <= 4; world++) {
        for (const bool is_even : {false, true}) {
          CAPTURE(records);
          CAPTURE(drops);
          CAPTURE(world);
          CAPTURE(is_even);
          std::vector<int64_t> seen;
          int64_t stand_ins = 0;
          for (int64_t rank = 0; rank < world; rank++) {
            data::LoaderOptions options;
            options.batch = {{"i", DType::I64, {-1}, ""}};
            options.name = "train";
            options.rank = rank;
            options.world = world;
            options.is_even = is_even;
            data::Loader loader(collate(range(records), kSize, drops), options);
            if (batches == 0) {
              CHECK_THROWS_WITH_AS(loader.batches(0), doctest::Contains("has no batch"), Error);
              continue;
            }
            if (world == 1) CHECK(loader.samples() == kept);
            // Turn by turn: a rank has the batches `rank`, `rank + world`, …
            CHECK(loader.batches(0) == (is_even ? batches + world - 1 : batches - rank + world - 1) / world);
            loader.start(0);
            for (Batch batch; loader.next(batch);) {
              const int64_t place = loader.number() * world + rank;
              if (batch.is_stand_in) {
                stand_ins++;
                CHECK(place >= batches);
                continue;
              }
              const at::Tensor own = aten(batch.fields[0]);
              CHECK(own.size(0) == loader.batch_samples(0, loader.number()));
              CHECK(own[0].item<int64_t>() == place * kSize);
              seen.insert(seen.end(), own.const_data_ptr<int64_t>(), own.const_data_ptr<int64_t>() + own.numel());
            }
          }
          std::sort(seen.begin(), seen.end());
          std::vector<int64_t> wanted(size_t(batches == 0 ? 0 : kept));
          std::iota(wanted.begin(), wanted.end(), 0);
          CHECK(seen == wanted);
          CHECK(stand_ins == (is_even ? (world - batches % world) % world * int64_t(batches > 0) : 0));
        }
      }
    }
  }
}

}  // namespace ltr::fake
