#include "runtime/callbacks/spike_guard.h"

#include <doctest/doctest.h>

#include <limits>

namespace ltr {

namespace {

Value guard_of(std::vector<Argument> arguments) {
  Value call = Value::call("SpikeGuard", std::move(arguments), {});
  return call;
}

}  // namespace

TEST_CASE("a value far above the mean of those before it is a spike, and no part of the mean") {
  SpikeGuard guard(guard_of({{"window", 3}, {"rtol", 1.0}}));
  CHECK(guard.take(9).empty());  // nothing to compare it with
  CHECK(guard.take(2).empty());
  CHECK(guard.take(1).empty());  // mean 4
  CHECK(guard.take(8).empty());  // as far above it as is allowed; mean 11 / 3
  CHECK_FALSE(guard.take(7.5).empty());
  CHECK_FALSE(guard.take(7.5).empty());
  CHECK(guard.take(7.3).empty());
}

TEST_CASE("both tolerances must be passed, during the warm-up nothing but nan is a spike") {
  SpikeGuard guard(guard_of({{"warmup", 2}, {"rtol", 0.5}, {"atol", 3.0}}));
  CHECK(guard.take(1).empty());
  CHECK(guard.take(100).empty());
  SpikeGuard absolute(guard_of({{"rtol", 0.5}, {"atol", 3.0}}));
  CHECK(absolute.take(1).empty());
  CHECK(absolute.take(4).empty());
  CHECK_FALSE(absolute.take(6).empty());
  CHECK_FALSE(absolute.take(std::numeric_limits<double>::quiet_NaN()).empty());
}

}  // namespace ltr
