#pragma once

// `--find-lr` (runtime.md 2.10): one training run with a rate that rises, and where its loss falls fastest.

#include <functional>
#include <vector>

#include "runtime/train/trainer.h"

namespace ltr {

class Optimizer;

/// The losses of rising rates.
class LrCurve {
 public:
  struct Point {
    double lr = 0;
    double loss = 0;      ///< of the window that moved the weights by it
    double smoothed = 0;  ///< with those before it: 0.98 of what was, without its bias towards 0
  };
  enum class End : uint8_t { AllTried, Diverged, NotFinite, Stopped };

  /// False if nothing is to come behind it: the loss is not finite, or, smoothed, above 4 times its best.
  bool add(double lr, double loss);
  void stop() { end_ = End::Stopped; }
  const std::vector<Point>& points() const { return points_; }
  End end() const { return end_; }
  /// The point where the smoothed loss falls steepest over the logarithm of the rate. The first 10 points, the last one and
  /// those behind the best do not count. Nothing if it falls nowhere, or they are too few.
  Option<size_t> steepest() const;

 private:
  std::vector<Point> points_;
  double mean_ = 0;
  double best_ = 0;
  End end_ = End::AllTried;
};

constexpr int64_t kRates = 100;
/// The rate number `t` of a search: from 1e-8 to 1.
double rate_of_search(int64_t t);

/// Tries all rates of `optimizer` on the model, which is of no other use afterwards. `told` is called behind each. R2006 for a
/// manual step.
LrCurve find_lr(const RunRequest& request, Optimizer& optimizer, const std::function<void(const LrCurve&)>& told);

}  // namespace ltr
