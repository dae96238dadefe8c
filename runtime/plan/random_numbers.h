#pragma once

// What random steps draw, and their whole numbers.

#include "runtime/plan/random_step.h"

namespace ltr::plan::random_step {

// ---- what is drawn

inline void make_draw(RandomStep& s) {
  const Ints sizes = s.sizes(s.rng.from(1, 3));
  switch (s.rng.from(0, 8)) {
    case 7: return s.keep(to(randperm(s.rng.from(1, 40)), DType::Float));
    case 8: return s.keep(to(sample(s.leaf({s.batch, s.rng.from(1, 9)}, 0, 1)), DType::Float));
    case 0: return s.keep(rand(sizes));
    case 1: return s.keep(randn(sizes));
    case 2: return s.keep(uniform(sizes, s.rng.real(-2, 0), s.rng.real(0, 2)));
    case 3: return s.keep(normal(sizes, s.rng.real(-1, 1), s.rng.real(0.1, 1)));
    case 4: return s.keep(to(randint(-3, s.rng.from(-2, 9), sizes), DType::Float));
    case 5: return s.keep(mul(s.some(), bernoulli(full({1}, Scalar(s.rng.real(0, 1))))));
    default: return s.keep(dropout2d(s.some(4), s.rng.real(0.1, 0.7)));
  }
}

// ---- what hangs on nothing

inline void make_constant(RandomStep& s) {
  const Tensor x = s.some(1, 2);
  const int64_t size = s.size(x, -1);
  if (size > 64) return;  // squares of it are made
  switch (s.rng.from(0, 8)) {
    case 0: return s.keep(add(x, to(arange(size), DType::Float)));
    case 1: return s.keep(mul(x, linspace(s.rng.real(-1, 0), s.rng.real(0, 1), size)));
    case 2: return s.keep(matmul(x, eye(size)));
    case 3: return s.keep(mul(x, select(select(alibi(s.rng.pick({1, 2, 8}), size), 0, 0), 0, 0)));
    case 4: return s.keep(add(mul(x, tensor_of(s.rng.real(-1, 1))), to(tensor_of(s.rng.from(-2, 2)), DType::Float)));
    case 5: return s.keep(mul(x, tensor_of(Floats(size_t(size), s.rng.real(-1, 1)))));
    case 6: return s.keep(add(x, to(tensor_of(Ints(size_t(size), s.rng.from(-2, 2))), DType::Float)));
    case 7: return s.keep(where(tensor_of(s.rng.chance(0.5)), x, square(x)));
    default: return s.keep(add(x, to(logical_not(isnan_(x)), DType::Float)));
  }
}

/// What metrics count.
inline void make_counts(RandomStep& s) {
  const int64_t classes = s.rng.from(1, 5);
  const Tensor label = s.whole({s.batch}, 0, classes - 1), other = s.whole({s.batch}, 0, classes - 1);
  const Tensor counts =
      counted(label, s.rng.chance(0.5) ? Option<int64_t>(s.rng.from(0, classes)) : std::nullopt, classes, "label");
  s.keep(counts);
  s.keep(to(class_counts(label, counts, classes), DType::Float));
  s.keep(to(confusion_counts(other, label, counts, classes), DType::Float));
}

// ---- whole numbers

inline void make_whole(RandomStep& s) {
  using Function = Tensor (*)(const Tensor&, const Tensor&);
  static constexpr Function kComparisons[] = {lt, le, gt, ge, ne, eq};
  static constexpr Function kFunctions[] = {add, sub, mul};
  const Ints sizes{s.batch, s.rng.from(1, 9)};
  const Tensor a = s.whole(sizes, -4, 4), b = s.whole(s.rng.chance(0.5) ? sizes : Ints{sizes[1]}, -4, 4);
  const Tensor c = s.rng.one_of(kFunctions)(a, b);
  s.keep(s.rng.one_of(kComparisons)(c, b));
  s.keep(s.rng.chance(0.5) ? lt(Scalar(int64_t(1)), c) : ne(c, Scalar(int64_t(2))));
  s.keep(to(sub(Scalar(int64_t(3)), c), DType::Float));
}

}  // namespace ltr::plan::random_step
