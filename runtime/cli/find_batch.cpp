#include "runtime/cli/find_batch.h"

#include <algorithm>

#include "runtime/cli/rank_plan.h"
#include "runtime/cli/size_search.h"
#include "runtime/cli/tuned_setting.h"
#include "runtime/data/stream.h"

namespace ltr::cli {

namespace {

constexpr int64_t kMost = int64_t(1) << 30;  // of a stream that has no end
constexpr double kOfLimit = 0.95;

/// A signal came.
struct Interrupted {
  int signal;
};

class BatchFinder {
 public:
  BatchFinder(Start& start, const std::function<void(const BatchSearch&)>& told) : start_(start), told_(told) {}

  BatchSearch run() {
    refuse_pipes(start_.line);
    look_at_data();
    try {
      search();
    } catch (const Interrupted& interrupted) {
      found_.signal = interrupted.signal;
    }
    return std::move(found_);
  }

 private:
  void look_at_data() {
    start_.open_data();
    const StreamSize train = train_size(start_);
    if (train.name.empty()) {
      throw error_at(start_.experiment->location, err::settings_contradict,
                     fmt::format("the experiment {} has no train stream", start_.experiment->name));
    }
    size_ = train.batch_size;
    const int64_t world = start_.ranks.world();
    found_.most = train.samples == kEndless ? kMost : std::max(train.samples / world, int64_t(1));
    option_ = batch_option(start_, size_, "find-batch");
    if (!option_) throw no_setting();
    start_.let_go();
  }

  Error no_setting() const {
    const auto stream = std::ranges::find(start_.data->streams, Role::Train, &Data::RoleStream::role);
    return with_help(
        error_at(stream->location, err::settings_contradict,
                 fmt::format("--find-batch: no setting says that batches have {}", plural(size_, "record"))),
        "give the size to `collate` as a parameter of the data, `collate(size)`, or from an hparam: `hparam batch: int "
        "= 32`");
  }

  void search() {
    const SizeSearch sizes{size_, found_.most, [this](int64_t size) { return allowed(size); },
                           [this](int64_t size) { return fits(size); }};
    const LargestSize largest = find_largest(sizes);
    if (largest.size == 0) throw nothing_fits();
    found_.largest = largest.size;
    found_.is_limited = largest.is_limited;
    const int64_t proposed = largest.is_limited ? allowed(int64_t(double(largest.size) * kOfLimit)) : 0;
    found_.size = proposed > 0 ? proposed : largest.size;
    found_.option = with_value(*option_, std::to_string(found_.size));
  }

  /// By the rules of hparams, and by `global_batch`, which must divide. None is looked for below the half of `size`.
  int64_t allowed(int64_t size) const {
    constexpr int64_t kReach = 2000;
    const int64_t global = start_.trainer.global_batch, world = start_.ranks.world();
    for (const int64_t end = std::max(size / 2 - 1, size - kReach); size > std::max(end, int64_t(0)); size--) {
      const bool divides = global <= 0 || global % (size * world) == 0;
      if (divides && with_option(start_, with_value(*option_, std::to_string(size))) != nullptr) return size;
    }
    return 0;
  }

  bool fits(int64_t size) {
    const TrialResult result = try_batch(start_, with_value(*option_, std::to_string(size)));
    using End = TrialResult::End;
    if (result.end == End::Stopped) throw Interrupted{result.signal};
    if (result.end == End::Failed) throw result.error;
    // Libraries that get no memory may crash. Where nothing has fitted it is no matter of the size.
    const bool has_fitted =
        std::ranges::any_of(found_.trials, [](const auto& one) { return one.result.end == End::Fits; });
    if (result.end == End::Crashed && !has_fitted)
      throw error_at({}, err::crashed, fmt::format("a trial with a batch of {}", size));
    found_.trials.push_back({size, result});
    told_(found_);
    return result.end == End::Fits;
  }

  Error nothing_fits() const {
    const Str smallest = found_.trials.empty() ? "no size is allowed"
                                               : fmt::format("not even a batch of {} fits", found_.trials.back().size);
    return with_help(error_at({}, err::out_of_memory, fmt::format("--find-batch: {}", smallest)),
                     "precision = bf16, a smaller model, or weights that ranks divide: strategy = fsdp");
  }

  Start& start_;
  const std::function<void(const BatchSearch&)>& told_;
  BatchSearch found_;
  Option<GivenOption> option_;
  int64_t size_ = 0;  ///< the program's own
};

}  // namespace

BatchSearch find_batch(Start& start, const std::function<void(const BatchSearch&)>& told) {
  return BatchFinder(start, told).run();
}

}  // namespace ltr::cli
