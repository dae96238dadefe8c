#pragma once

// Layers of random steps over space and time.

#include "runtime/plan/random_step.h"

namespace ltr::plan::random_step {

// ---- space

inline void make_volume(RandomStep& s) {
  const int64_t groups = s.rng.pick({1, 1, 2}), channels = groups * s.rng.from(1, 3), outputs = s.rng.from(1, 3);
  const auto three = [&](int64_t low, int64_t high) {
    return Ints{s.rng.from(low, high), s.rng.from(low, high), s.rng.from(low, high)};
  };
  const Ints space = three(3, 6), kernel = three(1, 3);
  const Tensor x = s.leaf({std::min<int64_t>(s.batch, 4), channels, space[0], space[1], space[2]});
  const auto weight = [&](int64_t front, int64_t behind) {
    return s.leaf({front, behind, kernel[0], kernel[1], kernel[2]}, -0.3, 0.3);
  };
  const Tensor bias = s.or_none(s.leaf({groups * outputs}));
  const Ints stride = three(1, 2);
  if (s.rng.chance(0.5)) {
    const Ints padding{s.rng.from(0, 1), s.rng.from(0, 1), s.rng.from(0, 1),
                       s.rng.from(0, 1), s.rng.from(0, 1), s.rng.from(0, 1)};
    return s.keep(conv3d(x, weight(groups * outputs, channels / groups), bias, stride, padding, {1, 1, 1}, groups));
  }
  const Ints more{s.rng.from(0, stride[0] - 1), s.rng.from(0, stride[1] - 1), s.rng.from(0, stride[2] - 1)};
  s.keep(conv_transpose3d(x, weight(channels, outputs), bias, stride, {0, 0, 0}, more, groups, {1, 1, 1}));
}

// ---- one moment after the other

inline void make_recurrent(RandomStep& s) {
  const Tensor x = s.some(3, 3);
  const int64_t records = s.size(x, 0), inputs = s.size(x, 2), units = s.rng.pick({1, 3, 8, 17});
  const auto state = [&] { return s.leaf({records, units}); };
  const auto weight = [&](int64_t gates, int64_t of) { return s.leaf({gates * units, of}, -0.4, 0.4); };
  const auto bias = [&](int64_t gates) { return s.leaf({gates * units}, -0.4, 0.4); };
  const bool has_bias = s.rng.chance(0.6), reverse = s.rng.chance(0.5);
  switch (s.rng.from(0, 2)) {
    case 0: {
      const auto [y, h, c] = lstm(x, state(), state(), weight(4, inputs), weight(4, units),
                                  has_bias ? bias(4) : Tensor(), has_bias ? bias(4) : Tensor(), reverse);
      if (s.rng.chance(0.8)) s.keep(y);
      s.keep(h);
      return s.keep(c);
    }
    case 1: {
      const auto [y, h] = gru(x, state(), weight(3, inputs), weight(3, units), has_bias ? bias(3) : Tensor(),
                              has_bias ? bias(3) : Tensor(), reverse);
      if (s.rng.chance(0.8)) s.keep(y);
      return s.keep(h);
    }
    default: {
      const auto [y, h] = rnn(x, state(), weight(1, inputs), weight(1, units), {}, {}, "tanh", reverse);
      s.keep(h);
      return s.keep(y);
    }
  }
}

}  // namespace ltr::plan::random_step
