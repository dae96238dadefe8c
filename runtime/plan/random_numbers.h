#pragma once

// What random steps draw, and their whole numbers.

#include "runtime/plan/random_step.h"

namespace ltr::plan::random_step {

// ---- what is drawn

inline void make_draw(RandomStep& s) {
  const Ints sizes = s.sizes(s.rng.from(1, 3));
  switch (s.rng.from(0, 6)) {
    case 0: return s.keep(rand(sizes));
    case 1: return s.keep(randn(sizes));
    case 2: return s.keep(uniform(sizes, s.rng.real(-2, 0), s.rng.real(0, 2)));
    case 3: return s.keep(normal(sizes, s.rng.real(-1, 1), s.rng.real(0.1, 1)));
    case 4: return s.keep(to(randint(-3, s.rng.from(-2, 9), sizes), DType::Float));
    case 5: return s.keep(mul(s.some(), bernoulli(full({1}, Scalar(s.rng.real(0, 1))))));
    default: return s.keep(dropout2d(s.some(4), s.rng.real(0.1, 0.7)));
  }
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
