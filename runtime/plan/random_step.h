#pragma once

// Random steps: small programs over whatever a plan may meet, by a seed, which says all of one.

#undef LTR_RUNTIME  // Functions as programs call them.

#include <ATen/ATen.h>

#include "ltr/operators.h"
#include "ltr/ops.h"
#include "runtime/plan/recorder.h"
#include "runtime/tensor/handle.h"

namespace ltr::plan::random_step {

/// SplitMix64 (Steele, Lea and Flood 2014): other seeds give other numbers at once.
class Rng {
 public:
  explicit Rng(uint64_t seed) : state_(seed * 0x2545f4914f6cdd1dU + 1) {}

  uint64_t next() {
    uint64_t z = state_ += 0x9e3779b97f4a7c15U;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9U;
    z = (z ^ z >> 27) * 0x94d049bb133111ebU;
    return z ^ z >> 31;
  }
  /// In [low, high], both included.
  int64_t from(int64_t low, int64_t high) { return low + int64_t(next() % uint64_t(high - low + 1)); }
  double real(double low, double high) { return low + (high - low) * double(next() >> 11) * 0x1p-53; }
  bool chance(double p) { return real(0, 1) < p; }
  template <class List>
  const auto& one_of(const List& list) {
    return *(std::begin(list) + from(0, int64_t(std::size(list)) - 1));
  }
  int64_t pick(std::initializer_list<int64_t> numbers) { return one_of(numbers); }

 private:
  uint64_t state_;
};

inline Ints sizes_of(const Tensor& x) { return In(x)->sizes().vec(); }
inline int64_t axes_of(const Tensor& x) { return In(x)->dim(); }
inline int64_t count_of(const Tensor& x) { return In(x)->numel(); }

/// A tensor that the step is given.
struct Leaf {
  ValueId id;
  Tensor tensor;
  bool is_kept;         ///< a weight, with strides of its own; else a field of the batch
  at::Tensor restored;  ///< what a buffer was at first
};

/// What a step has so far, and where its next op takes operands from.
class RandomStep {
 public:
  explicit RandomStep(uint64_t seed, bool may_be_large = true)
      : rng(seed),
        is_large(rng.chance(0.1) && may_be_large),
        batch(is_large ? rng.pick({16, 64, 300}) : rng.from(1, 12)) {}

  Rng rng;
  Recorder recorder;
  const bool is_large;  ///< so that blocks, panels and caches are full
  const int64_t batch;
  std::vector<Leaf> leaves;
  Tensors floats, conditions;

  /// Few, many, and what fills no lanes; seldom 0.
  Ints sizes(int64_t axes) {
    Ints found;
    int64_t most = is_large ? 60000 : 6000;
    for (int64_t axis = 0; axis < axes; ++axis) {
      const int64_t one = axis == 0 && rng.chance(0.7)  ? batch
                          : rng.chance(0.003)           ? 0
                          : is_large && rng.chance(0.5) ? rng.pick({33, 64, 100, 130, 257, 600})
                                                        : rng.pick({1, 2, 3, 4, 5, 6, 7, 8, 9, 12, 16, 17, 31, 32, 40});
      found.push_back(one <= most ? one : 1);
      most /= std::max<int64_t>(one, 1);
    }
    return found;
  }

  /// Another one that the step is given, uniform in [low, high).
  Tensor leaf(const Ints& sizes, double low = -1, double high = 1) {
    at::Tensor numbers = drawn(sizes, low, high);
    const bool is_kept = rng.chance(0.5);
    if (is_kept && rng.chance(0.3)) numbers = elsewhere(numbers);
    const Tensor tensor = give(numbers.set_requires_grad(rng.chance(0.9)));
    add_leaf(tensor, is_kept);
    return tensor;
  }
  /// A weight that the step writes.
  Tensor buffer(const at::Tensor& numbers) {
    const at::Tensor typed = numbers.is_floating_point() ? numbers.to(aten(DType::Float)) : numbers;
    const Tensor tensor = give(typed.clone());
    add_leaf(tensor, true);
    leaves.back().restored = typed;
    return tensor;
  }
  /// Whole numbers in [low, high].
  Tensor whole(const Ints& sizes, int64_t low, int64_t high) {
    at::Tensor numbers = at::empty(sizes, at::kLong);
    for (int64_t i = 0; i < numbers.numel(); ++i) numbers.data_ptr<int64_t>()[i] = rng.from(low, high);
    const Tensor tensor = give(numbers);
    if (rng.chance(0.7)) add_leaf(tensor, rng.chance(0.2));  // else a constant
    return tensor;
  }

  /// Something of the step with `least` to `most` axes.
  Tensor any(int64_t least = 0, int64_t most = 4) {
    Tensors fitting;
    for (const Tensor& one : floats) {
      if (axes_of(one) >= least && axes_of(one) <= most) fitting.push_back(one);
    }
    if (fitting.empty() || rng.chance(0.12))
      return floats.emplace_back(leaf(sizes(rng.from(std::max<int64_t>(least, rng.from(0, 2)), most))));
    // What came last more often: steps are deep.
    const auto count = int64_t(fitting.size());
    return fitting[size_t(count - 1 - std::min(rng.from(0, count - 1), rng.from(0, count - 1)))];
  }
  /// What has no sizes of 0, where a function refuses them.
  Tensor some(int64_t least = 0, int64_t most = 4) {
    for (int turn = 0; turn < 5; ++turn) {
      if (const Tensor found = any(least, most); count_of(found) > 0) return found;
    }
    return leaf(Ints(size_t(least), 3));
  }
  Tensor above_zero(const Tensor& x) { return add(abs(x), Scalar(rng.real(0.1, 0.5))); }
  /// Some axis, from the front or from the end.
  int64_t axis(const Tensor& x) {
    const int64_t at = rng.from(0, axes_of(x) - 1);
    return rng.chance(0.3) ? at - axes_of(x) : at;
  }
  /// One axis, or all.
  Option<int64_t> axis_or_all(const Tensor& x) {
    if (axes_of(x) == 0 || rng.chance(0.2)) return {};
    return axis(x);
  }
  int64_t size(const Tensor& x, int64_t axis) const { return In(x)->size(axis); }
  /// One that goes together with `x`: the same, another one, or with axes that stretch.
  Tensor beside(const Tensor& x) {
    for (const Tensor& one : floats) {
      if (sizes_of(one) == sizes_of(x) && rng.chance(0.4)) return one;
    }
    Ints sizes = sizes_of(x);
    if (rng.chance(0.5)) return leaf(sizes);
    for (int64_t& size : sizes) {
      if (rng.chance(0.4)) size = 1;
    }
    while (!sizes.empty() && rng.chance(0.3)) sizes.erase(sizes.begin());
    return leaf(sizes);
  }
  Tensor condition(const Tensor& x) {
    for (const Tensor& one : conditions) {
      if (sizes_of(one) == sizes_of(x) && rng.chance(0.5)) return one;
    }
    return gt(beside(x), Scalar(rng.real(-0.3, 0.3)));
  }
  /// With probability 1 / 3 nothing.
  Tensor or_none(const Tensor& x) { return rng.chance(0.33) ? Tensor() : x; }

  /// The step goes on with `x`, unless it leaves the numbers that others can take, or grows.
  void keep(const Tensor& x) {
    const at::Tensor& numbers = aten(x);
    if (numbers.scalar_type() == at::kBool) {
      conditions.push_back(x);
      return;
    }
    if (numbers.numel() > (is_large ? 200000 : 20000) || !numbers.is_floating_point()) return;
    if (numbers.numel() > 0 && !(numbers.detach().abs().max().item<double>() < 30)) return;
    floats.push_back(x);
  }

 private:
  at::Tensor drawn(const Ints& sizes, double low, double high) {
    at::Tensor numbers = at::empty(sizes);
    for (int64_t i = 0; i < numbers.numel(); ++i) numbers.data_ptr<float>()[i] = float(rng.real(low, high));
    return numbers.to(aten(DType::Float));
  }
  /// With other strides: those of a transposed matrix, of a part of something larger, or 0.
  at::Tensor elsewhere(const at::Tensor& numbers) {
    const int64_t axes = numbers.dim(), last = axes - 1;
    if (axes >= 2 && rng.chance(0.4)) return numbers.transpose(0, -1).contiguous().transpose(0, -1);
    if (axes == 0 || numbers.numel() == 0) return numbers;
    if (rng.chance(0.7)) {
      const int64_t size = numbers.size(last), step = rng.from(1, 2), begin = rng.from(0, 3);
      return at::cat({numbers, numbers, numbers, numbers, numbers}, last).slice(last, begin, begin + size * step, step);
    }
    return numbers.narrow(0, 0, 1).expand_as(numbers);
  }
  void add_leaf(const Tensor& tensor, bool is_kept) {
    const Str name = fmt::format("x{}", leaves.size());
    leaves.push_back({is_kept ? recorder.weight(tensor, name) : recorder.input(tensor, name), tensor, is_kept, {}});
  }
};

}  // namespace ltr::plan::random_step
