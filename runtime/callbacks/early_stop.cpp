#include "runtime/callbacks/early_stop.h"

#include <cmath>
#include <limits>

#include "runtime/callbacks/arguments.h"
#include "runtime/callbacks/make.h"
#include "runtime/callbacks/series.h"

namespace ltr {

EarlyStop::EarlyStop(const Value& call, bool is_max)
    : monitor_(text_argument(call, "monitor", "")),
      is_max_(is_max),
      patience_(int_argument(call, "patience", 3)),
      min_delta_(std::abs(float_argument(call, "min_delta", 0))),
      threshold_(optional_argument(call, "threshold")),
      divergence_(optional_argument(call, "divergence")),
      check_finite_(bool_argument(call, "check_finite", true)) {}

bool EarlyStop::beats(double value, double other, double by) const {
  return is_max_ ? value > other + by : value < other - by;
}

Str EarlyStop::take(double value) {
  if (check_finite_ && !std::isfinite(value)) return fmt::format("{} is {}", monitor_, value);
  if (threshold_ && beats(value, *threshold_, 0)) {
    return fmt::format("{} = {} passed the threshold {}", monitor_, value, *threshold_);
  }
  if (divergence_ && beats(*divergence_, value, 0)) {
    return fmt::format("{} = {} is worse than {}", monitor_, value, *divergence_);
  }
  const double infinity = std::numeric_limits<double>::infinity();
  if (beats(value, has_best_ ? best_ : is_max_ ? -infinity : infinity, min_delta_)) {
    best_ = value;
    has_best_ = true;
    bad_ = 0;
    return "";
  }
  bad_++;
  if (bad_ < patience_) return "";
  if (!has_best_) return fmt::format("{} had no number for {} round{}", monitor_, bad_, bad_ == 1 ? "" : "s");
  return fmt::format("{} did not improve on {} for {} round{}", monitor_, best_, bad_, bad_ == 1 ? "" : "s");
}

void EarlyStop::visit(Archive& archive) {
  archive.value("best", best_);
  archive.value("has_best", has_best_);
  archive.value("bad", bad_);
}

namespace {

class EarlyStopListener : public Listener {
 public:
  EarlyStopListener(EarlyStop early, const FitView& view) : early_(std::move(early)), view_(view) {}
  uint32_t interests() const override { return kFresh; }
  void fresh(Role role) override {
    if (!is_of(early_.monitor(), role)) return;
    const Str reason = early_.take(view_.logs.newest(early_.monitor()));
    if (!reason.empty()) view_.outcome.stop("early stop", reason);
  }
  void visit(Archive& archive) override { early_.visit(archive); }
  bool has_state() const override { return true; }

 private:
  EarlyStop early_;
  FitView view_;
};

}  // namespace

ListenerPtr make_early_stop(const Value& call, const FitView& view) {
  // A dev run is over before a value could stop it.
  if (view.request.flags.fast_dev_run > 0) return nullptr;
  const Str monitor = text_argument(call, "monitor", "");
  check_series(view.logs, monitor, "EarlyStop", call.location);
  const bool larger = is_max(view.logs, monitor, text_argument(call, "mode", "auto"), call.location);
  return std::make_unique<EarlyStopListener>(EarlyStop(call, larger), view);
}

}  // namespace ltr
