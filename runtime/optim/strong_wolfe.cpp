#include "runtime/optim/strong_wolfe.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <tuple>

namespace ltr::optim {

namespace {

/// Where the cubic through two points, by their losses and slopes, is least between `low` and `high`; their middle if nowhere.
double least_of_cubic(const LinePoint& one, const LinePoint& other, double low, double high) {
  const auto& [left, right] = one.t <= other.t ? std::tie(one, other) : std::tie(other, one);
  const double bend = left.slope + right.slope - 3 * (left.loss - right.loss) / (left.t - right.t);
  const double square = bend * bend - left.slope * right.slope;
  if (!(square >= 0)) return (low + high) / 2;
  const double root = std::sqrt(square);
  const double share = (right.slope + root - bend) / (right.slope - left.slope + 2 * root);
  return std::min(std::max(right.t - (right.t - left.t) * share, low), high);
}

class WolfeSearch {
 public:
  WolfeSearch(const LinePoint& start, const LineSearch& search, const std::function<LinePoint(double)>& evaluate)
      : start_(start), search_(search), evaluate_(evaluate) {}

  LineFound from(double t) {
    if (!bracket(t)) narrow();
    return {ends_[low_], evaluations_};
  }

 private:
  /// Goes on until a point is good, which is then the low end, or one must lie between it and the point before. Whether it is good.
  bool bracket(double t) {
    LinePoint before = start_, point = at(t);
    for (; rounds_ < search_.evaluations; rounds_++) {
      const bool rises = rounds_ > 1 && point.loss >= before.loss;
      if (is_high(point) || rises) return keep(before, point);
      if (is_flat(point)) {
        ends_[low_] = point;
        return true;
      }
      if (point.slope >= 0) return keep(before, point);
      const double next = least_of_cubic(before, point, point.t + 0.01 * (point.t - before.t), 10 * point.t);
      before = point;
      point = at(next);
    }
    return keep(start_, point);
  }

  /// Moves the ends towards each other until the low one is good.
  void narrow() {
    bool was_close = false;
    for (; rounds_ < search_.evaluations; rounds_++) {
      if (std::abs(ends_[1].t - ends_[0].t) * search_.longest < search_.tolerance) return;
      const auto [least, most] = std::minmax(ends_[0].t, ends_[1].t);
      const LinePoint point = at(inside(least_of_cubic(ends_[0], ends_[1], least, most), least, most, was_close));
      LinePoint &low = ends_[low_], &high = ends_[1 - low_];
      if (is_high(point) || point.loss >= low.loss) {
        high = point;
        find_low();
        continue;
      }
      const bool is_good = is_flat(point);
      if (!is_good && point.slope * (high.t - low.t) >= 0) high = low;
      low = point;
      if (is_good) return;
    }
  }

  /// `t`, or what is a tenth of the way away from the end it is at, or keeps close to.
  static double inside(double t, double least, double most, bool& was_close) {
    const double margin = 0.1 * (most - least);
    const bool is_close = std::min(most - t, t - least) < margin;
    const bool is_moved = is_close && (was_close || t >= most || t <= least);
    was_close = is_close && !is_moved;
    if (!is_moved) return t;
    return std::abs(t - most) < std::abs(t - least) ? most - margin : least + margin;
  }

  LinePoint at(double t) {
    evaluations_++;
    return evaluate_(t);
  }
  bool is_high(const LinePoint& point) const { return point.loss > start_.loss + 1e-4 * point.t * start_.slope; }
  bool is_flat(const LinePoint& point) const { return std::abs(point.slope) <= -0.9 * start_.slope; }
  bool keep(const LinePoint& one, const LinePoint& other) {
    ends_ = {one, other};
    find_low();
    return false;
  }
  void find_low() { low_ = ends_[0].loss <= ends_[1].loss ? 0 : 1; }

  const LinePoint& start_;
  const LineSearch& search_;
  const std::function<LinePoint(double)>& evaluate_;
  std::array<LinePoint, 2> ends_;
  size_t low_ = 0;
  int64_t rounds_ = 0;
  int64_t evaluations_ = 0;
};

}  // namespace

LineFound strong_wolfe(const LinePoint& start, double t, const LineSearch& search,
                       const std::function<LinePoint(double t)>& evaluate) {
  return WolfeSearch(start, search, evaluate).from(t);
}

}  // namespace ltr::optim
