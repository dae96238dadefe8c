#include "runtime/train/find_lr.h"

#include <algorithm>
#include <cmath>

#include "runtime/optim/optimizer.h"
#include "runtime/train/held_weights.h"
#include "runtime/train/rehearsal.h"

namespace ltr {

bool LrCurve::add(double lr, double loss) {
  if (!std::isfinite(loss)) {
    end_ = End::NotFinite;
    return false;
  }
  constexpr double kKept = 0.98;
  mean_ = kKept * mean_ + (1 - kKept) * loss;
  const double smoothed = mean_ / (1 - std::pow(kKept, double(points_.size() + 1)));
  points_.push_back({lr, loss, smoothed});
  // 4 times the best, said so that it is above the best of a loss that is negative, too.
  const bool has_diverged = points_.size() > 1 && smoothed > best_ + 3 * std::abs(best_);
  if (points_.size() == 1 || smoothed < best_) best_ = smoothed;
  if (has_diverged) end_ = End::Diverged;
  return !has_diverged;
}

Option<size_t> LrCurve::steepest() const {
  constexpr size_t kFirst = 10;
  if (points_.size() < kFirst + 3) return std::nullopt;
  // Behind its best the loss has left the weights that it came from: where it falls again says nothing of them.
  const auto best = std::min_element(points_.begin(), points_.end(),
                                     [](const Point& a, const Point& b) { return a.smoothed < b.smoothed; });
  const size_t last = std::min(points_.size() - 2, size_t(best - points_.begin()));
  Option<size_t> found;
  // What falls less than that is rounded.
  double slope = -1e-9 * std::abs(points_.front().smoothed);
  for (size_t i = kFirst; i <= last; i++) {
    // Of the neighbours on both sides, as far as they count.
    const Point& before = points_[i == kFirst ? i : i - 1];
    const Point& after = points_[i == last ? i : i + 1];
    const double here = (after.smoothed - before.smoothed) / std::log(after.lr / before.lr);
    if (here >= slope) continue;
    slope = here;
    found = i;
  }
  return found;
}

double rate_of_search(int64_t t) { return 1e-8 * std::pow(1e8, double(t) / double(kRates - 1)); }

LrCurve find_lr(const RunRequest& request, Optimizer& optimizer, const std::function<void(const LrCurve&)>& told) {
  HeldWeights held(request);
  held.apply(0);
  Rehearsal rehearsal(request);
  if (rehearsal.step().is_manual) {
    throw with_help(error_at(rehearsal.step().location, err::settings_contradict,
                             "--find-lr follows what `minimize` is given, and this step is manual"),
                    fmt::format("compare rates by short runs: --set model.{}.lr=0.001 --steps 100", optimizer.name()));
  }
  LrCurve curve;
  for (int64_t t = 0; t < kRates; t++) {
    const double rate = rate_of_search(t);
    optimizer.set_base_rate(rate);
    const Option<double> loss = rehearsal.run_window(&optimizer);
    if (rehearsal.signal() != 0) {
      curve.stop();
      return curve;
    }
    // A step that returned before its `minimize` made no update by this rate.
    if (!loss) continue;
    if (!curve.add(rate, *loss)) return curve;
    told(curve);
  }
  return curve;
}

}  // namespace ltr
