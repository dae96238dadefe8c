#include "runtime/train/find_lr.h"

#include <doctest/doctest.h>

#include <cmath>

#include "runtime/optim/optimizer.h"
#include "runtime/train/fake_program.h"
#include "runtime/train/fake_ranks.h"
#include "runtime/train/rehearsal.h"
#include "runtime/train/root_state.h"

namespace ltr::fake {

namespace {

/// The curve of these losses, as far as it goes.
LrCurve curve_of(const std::function<double(int64_t t)>& loss) {
  LrCurve curve;
  for (int64_t t = 0; t < kRates && curve.add(rate_of_search(t), loss(t)); t++) {
  }
  return curve;
}

}  // namespace

TEST_CASE("rates of a search rise from 1e-8 to 1") {
  CHECK(rate_of_search(0) == doctest::Approx(1e-8));
  CHECK(rate_of_search(kRates - 1) == doctest::Approx(1.0));
  CHECK(rate_of_search(50) / rate_of_search(49) == doctest::Approx(rate_of_search(2) / rate_of_search(1)));
}

TEST_CASE("losses are smoothed without a bias towards their beginning") {
  const LrCurve still = curve_of([](int64_t) { return 3.0; });
  CHECK(still.points().size() == size_t(kRates));
  for (const LrCurve::Point& point : still.points()) CHECK(point.smoothed == doctest::Approx(3.0));
  CHECK(!still.steepest());
  LrCurve two;
  two.add(1e-8, 1);
  two.add(2e-8, 2);
  CHECK(two.points()[1].smoothed == doctest::Approx((0.98 * 1 + 2) / 1.98));
}

TEST_CASE("the search ends where the smoothed loss is above 4 times its best, or is none") {
  const LrCurve risen = curve_of([](int64_t t) { return t < 40 ? 1.0 : 1e4; });
  CHECK(risen.end() == LrCurve::End::Diverged);
  CHECK(risen.points().size() == 41);
  const LrCurve below = curve_of([](int64_t t) { return t < 40 ? -1.0 : 1e4; });
  CHECK(below.end() == LrCurve::End::Diverged);
  CHECK(curve_of([](int64_t) { return -1.0; }).end() == LrCurve::End::AllTried);
  const LrCurve broken = curve_of([](int64_t t) { return t < 40 ? 1.0 : NAN; });
  CHECK(broken.end() == LrCurve::End::NotFinite);
  CHECK(broken.points().size() == 40);
}

TEST_CASE("the steepest fall is found, but not in the first ten points or the last") {
  // Falls of one point each, which smoothing spreads to what is behind: the largest is where it begins.
  const auto falls_at = [](int64_t where, double from) {
    return curve_of([=](int64_t t) { return t < where ? from : 1.0; });
  };
  const size_t found = falls_at(50, 3).steepest().value_or(0);
  CHECK(found >= 49);
  CHECK(found <= 51);
  CHECK(falls_at(3, 3).steepest().value_or(0) == 10);  // it goes on behind them
  // It falls a little, rises far, and falls from there.
  const auto hump = curve_of([](int64_t t) { return t < 40 ? 3.0 - 0.01 * double(t) : t < 60 ? 6.0 : 2.7; });
  REQUIRE(hump.steepest());
  CHECK(*hump.steepest() <= 40);
  CHECK(!curve_of([](int64_t t) { return 1.0 + double(t); }).steepest());
  LrCurve few;
  for (int64_t t = 0; t < 12; t++) few.add(rate_of_search(t), double(20 - t));
  CHECK(!few.steepest());
  few.add(rate_of_search(12), 1);
  CHECK(few.steepest());
}

TEST_CASE("a rehearsal goes round, and gives the mean of what its optimizer minimized") {
  Run run({}, 40, 16);
  RunRequest request = run.request();
  Rehearsal rehearsal(request);
  Optimizer& optimizer = *run.root.state().optimizers.front();
  for (int i = 0; i < 7; i++) {
    const Option<double> loss = rehearsal.run_window(i % 2 == 0 ? &optimizer : nullptr);
    CHECK(loss.has_value() == (i % 2 == 0));
    if (loss) CHECK(std::isfinite(*loss));
  }
  CHECK(rehearsal.signal() == 0);
}

TEST_CASE("two ranks give one curve, that of one with both their batches") {
  const auto losses = [](const Ranks& ranks, int64_t size) {
    Run run({.rule = Value::call("SGD", {{"lr", 1e-2, "float", {}}})}, 64, size);
    RunRequest request = run.request(ranks);
    const LrCurve curve = find_lr(request, *run.root.state().optimizers.front(), [](const LrCurve&) {});
    std::vector<double> out;
    for (const LrCurve::Point& point : curve.points()) out.push_back(point.loss);
    return out;
  };
  std::array<std::vector<double>, 2> both;
  as_two([&](const Ranks& ranks) { both[size_t(ranks.rank())] = losses(ranks, 16); });
  CHECK(both[0] == both[1]);
  CHECK(both[0].size() > 50);
}

}  // namespace ltr::fake
