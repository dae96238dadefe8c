#include "runtime/train/ranks.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>

#include "ltr/streams.h"
#include "runtime/data/loader.h"
#include "runtime/tensor/handle.h"
#include "runtime/train/fake_program.h"
#include "runtime/train/trainer.h"

namespace ltr::fake {

namespace {

namespace fs = std::filesystem;

/// A process whose other one sees and sums the same.
class OneOfTwo final : public Ranks {
 public:
  explicit OneOfTwo(int64_t rank) : rank_(rank) {}
  int64_t rank() const override { return rank_; }
  int64_t world() const override { return 2; }
  void sum(std::span<double> numbers) const override {
    sums_++;
    for (double& number : numbers) number *= 2;
  }
  void least(std::span<double>) const override {}
  void most(std::span<double>) const override {}
  Tensor join(const Tensor& state, Reduce how) const override {
    joins_++;
    const In tensor(state);
    if (how == Reduce::Cat) return give(at::cat({tensor, tensor}));
    return how == Reduce::Sum ? give(at::mul(tensor, 2)) : state;
  }
  int64_t sums() const { return sums_; }
  int64_t joins() const { return joins_; }

 private:
  int64_t rank_;
  mutable int64_t sums_ = 0;
  mutable int64_t joins_ = 0;
};

FitReport run_as(const Ranks& ranks, const Str& folder) {
  Run run;
  run.run_dir = folder;
  run.trainer.checkpoint = true;
  RunRequest one = run.request();
  RunRequest request{one.program, one.experiment, one.data, one.model, one.root, one.trainer, one.callbacks, nullptr,
                     one.progress, one.run_dir, "", "", {}, ranks};
  request.make_feed = one.make_feed;
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

TEST_CASE("the first rank alone writes checkpoints; means and metrics are those of all") {
  const Str base = (fs::temp_directory_path() / fmt::format("ltr-ranks-{}", getpid())).string();
  const OneOfTwo first(0);
  const OneOfTwo second(1);
  const FitReport alone = run_as(one_rank(), base + "/alone");
  const FitReport report = run_as(first, base + "/first");
  CHECK(fs::exists(base + "/first/checkpoints/last"));
  run_as(second, base + "/second");
  CHECK_FALSE(fs::exists(base + "/second/checkpoints"));
  // The other rank saw the same, so that means and ratios are what one has.
  CHECK(report.last == alone.last);
  CHECK(first.sums() > 0);
  CHECK(first.joins() == 2 * (3 + 3));  // two states; three epochs of train and of val
  fs::remove_all(base);
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
    for (int64_t rank = 0; rank < std::min<int64_t>(world, 9); rank++) {
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
  for (int64_t rank = 0; rank < 4; rank++) CHECK(loader_of(rank, 4, true, 0)->batches(0) == 2);
}

}  // namespace ltr::fake
