#include "runtime/train/metric_states.h"

#include <ATen/ATen.h>
#include <doctest/doctest.h>

#include "runtime/tensor/handle.h"

namespace ltr {

namespace {

/// Digits in the order in which they came: what is merged in another order is another number.
class Digits : public Metric {
 public:
  Digits() { reset(); }
  void reset() final {
    number = give(at::zeros({}, at::kLong));
    scale = give(at::ones({}, at::kLong));
  }
  std::vector<State> states() final { return {{"number", &number, Reduce::Merge}, {"scale", &scale, Reduce::Merge}}; }
  Tensor compute() final { return number; }
  std::vector<Tensor> merge(const std::vector<Tensor>& first, const std::vector<Tensor>& second) final {
    return {give(aten(first[0]) * aten(second[1]) + aten(second[0])), give(aten(first[1]) * aten(second[1]))};
  }
  Tensor number, scale;
};

class Sums : public Metric {
 public:
  Sums() { reset(); }
  void reset() final {
    sum = give(at::zeros({}));
    seen = give(at::zeros({0}));
  }
  std::vector<State> states() override { return {{"sum", &sum, Reduce::Sum}, {"seen", &seen, Reduce::Cat}}; }
  Tensor compute() final { return sum; }
  Tensor sum, seen;
};

MetricStates digit(int64_t number) { return {at::scalar_tensor(number, at::kLong), at::scalar_tensor(10, at::kLong)}; }

}  // namespace

TEST_CASE("what is joined by sum begins at 0") {
  Sums sums;
  check_beginnings("sums", sums);
  sums.sum = give(at::ones({}));
  std::string said;
  try {
    check_beginnings("sums", sums);
  } catch (const Error& error) {
    said = error.code + ": " + error.message;
  }
  CHECK(said == "R2006: the state sum of sums is joined by `sum`, and begins with another value than 0");
}

TEST_CASE("a function merges the states of parts in their order") {
  Digits digits;
  CHECK(is_merged(digits));
  const MetricStates all = joined(digits, {digit(1), digit(2), digit(3)});
  CHECK(all[0].item<int64_t>() == 123);
  CHECK(all[1].item<int64_t>() == 1000);
  CHECK(aten(digits.number).item<int64_t>() == 0);
  CHECK(joined(digits, {digit(7)})[0].item<int64_t>() == 7);
}

TEST_CASE("without one each state has its own rule") {
  Sums sums;
  CHECK_FALSE(is_merged(sums));
  CHECK_FALSE(gathers_apart(sums));
  set_states(sums, joined(sums, {{at::ones({}), at::ones({2})}, {at::ones({}), at::zeros({1})}}));
  const MetricStates all = states_of(sums);
  CHECK(all[0].item<float>() == 2);
  CHECK(all[1].equal(at::tensor({1.0f, 1.0f, 0.0f})));
}

TEST_CASE("a least value of a window is none of the epoch, and a mean of ranks none of windows") {
  class Least : public Sums {
   public:
    explicit Least(Reduce other) : other_(other) {}
    std::vector<State> states() final { return {{"sum", &sum, Reduce::Min}, {"seen", &seen, other_}}; }

   private:
    Reduce other_;
  };
  Least with_sum(Reduce::Sum);
  Least with_mean(Reduce::Mean);
  CHECK(gathers_apart(with_sum));
  CHECK_FALSE(gathers_apart(with_mean));
}

}  // namespace ltr
