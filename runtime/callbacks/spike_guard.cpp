#include "runtime/callbacks/spike_guard.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "runtime/callbacks/arguments.h"
#include "runtime/callbacks/make.h"
#include "runtime/callbacks/series.h"
#include "runtime/train/faults.h"

namespace ltr {

SpikeGuard::SpikeGuard(const Value& call)
    : series_(text_argument(call, "of", "train.loss")),
      window_(int_argument(call, "window", 10)),
      warmup_(int_argument(call, "warmup", 1)),
      rtol_(float_argument(call, "rtol", 2)),
      atol_(optional_argument(call, "atol")),
      stops_(text_argument(call, "action", "warn") == "stop") {}

Str SpikeGuard::take(double value) {
  if (!std::isfinite(value)) return fmt::format("{} is {}", series_, value);
  const bool is_warm = seen_ >= warmup_ && !values_.empty();
  const double mean =
      values_.empty() ? 0 : std::accumulate(values_.begin(), values_.end(), 0.0) / double(values_.size());
  const double rise = value - mean;
  if (is_warm && rise > rtol_ * std::abs(mean) && rise > atol_.value_or(0))
    return fmt::format("{} jumped to {:.6g} from a mean of {:.6g} over {} values", series_, value, mean,
                       values_.size());
  seen_ = std::min(seen_ + 1, warmup_);
  values_.push_back(value);
  if (int64_t(values_.size()) > window_) values_.pop_front();
  return "";
}

void SpikeGuard::visit(Archive& archive) {
  archive.value("seen", seen_);
  auto count = int64_t(values_.size());
  archive.value("count", count);
  values_.resize(size_t(count));
  for (size_t i = 0; i < values_.size(); i++) archive.value(fmt::format("value{}", i), values_[i]);
}

namespace {

class SpikeGuardListener : public Listener {
 public:
  SpikeGuardListener(SpikeGuard guard, const FitView& view)
      : guard_(std::move(guard)),
        view_(view),
        column_(recorded_name(guard_.series())),
        step_column_(recorded_name(guard_.series(), kStepSuffix)) {}
  uint32_t interests() const override { return kRecorded | kFresh; }

  void recorded(Named& row) override {
    for (const auto& [recorded, value] : row) {
      if (recorded != column_ && recorded != step_column_) continue;
      comes_on_steps_ = true;
      look_at(value);
      return;
    }
  }

  void fresh(Role role) override {
    if (!comes_on_steps_ && is_of(guard_.series(), role)) look_at(view_.logs.newest(guard_.series()));
  }

  void visit(Archive& archive) override {
    guard_.visit(archive);
    archive.value("comes_on_steps", comes_on_steps_);
  }
  bool has_state() const override { return true; }

 private:
  void look_at(double value) {
    const Str spike = guard_.take(value);
    if (spike.empty()) return;
    const Str what = fmt::format("step {}: {}", view_.at.global_step, spike);
    if (!guard_.stops()) return view_.request.progress.warning(what);
    keep_records(what);
    view_.outcome.stop("spike", what);
  }

  /// The batch at hand, and the names of the records of this window and the one before.
  void keep_records(const Str& what) const {
    if (!view_.request.writes()) return;
    const int64_t end = view_.at.batch, rows = view_.windows.rows(view_.at.epoch, view_.at.global_step);
    std::vector<Str> records;
    for (int64_t batch = std::max<int64_t>(end - 2 * rows, 0); batch < end; batch++) {
      for (Str& name : view_.feed.records(view_.at.epoch, batch)) records.push_back(std::move(name));
    }
    try {
      const Error spike("SpikeGuard", what, {});
      const Str file = write_fault(view_.request, view_.batch, spike, view_.at.global_step, records);
      view_.request.progress.notice(fmt::format("the batch is in {}{}", file, records_text(records)));
    } catch (const Error& failure) {
      view_.request.progress.warning(failure.message);
    }
  }

  SpikeGuard guard_;
  FitView view_;
  Str column_;                   ///< what loggers call the series
  Str step_column_;              ///< likewise, the values of steps of one on both
  bool comes_on_steps_ = false;  ///< so that the mean of an epoch is not compared with values of steps
};

}  // namespace

ListenerPtr make_spike_guard(const Value& call, const FitView& view) {
  if (view.request.flags.fast_dev_run > 0) return nullptr;
  SpikeGuard guard(call);
  check_series(view.logs, guard.series(), "SpikeGuard", call.location);
  return std::make_unique<SpikeGuardListener>(std::move(guard), view);
}

}  // namespace ltr
