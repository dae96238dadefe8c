#pragma once

// Convolutions and pools of random steps, on images, lines and volumes.

#include "runtime/plan/random_step.h"
#include "runtime/tensor/mode.h"

namespace ltr::plan::random_step {

inline Tensor image_of(RandomStep& s, int64_t axes) {
  for (int turn = 0; turn < 3; ++turn) {
    const Tensor found = s.some(axes, axes);
    if (s.size(found, 1) <= 40 && count_of(found) <= 8000) return found;
  }
  Ints sizes{s.batch, s.rng.pick({1, 2, 3, 4, 8, 16, 17})};
  while (int64_t(sizes.size()) < axes) sizes.push_back(s.rng.pick({1, 2, 3, 4, 5, 7, 8, 11, 16}));
  return s.leaf(sizes);
}

inline void make_convolution(RandomStep& s) {
  const bool is_line = s.rng.chance(0.3);
  const Tensor x = image_of(s, is_line ? 3 : 4);
  const int64_t channels = s.size(x, 1);
  int64_t groups = s.rng.chance(0.75) ? 1 : s.rng.pick({2, 3, channels});
  if (channels % groups != 0) groups = 1;
  const int64_t outputs =
      groups * s.rng.pick({1, 2, 3, 5, groups == 1 ? int64_t(16) : 1, groups == 1 ? int64_t(20) : 2});
  const auto kernel_for = [&](int64_t size, int64_t padding, int64_t dilation) {
    return std::max<int64_t>(1, std::min(s.rng.pick({1, 2, 3, 3, 3, 5}), (size + padding - 1) / dilation + 1));
  };
  if (is_line && s.rng.chance(0.15)) {
    const Tensor weight = s.leaf({channels, outputs / groups, s.rng.from(3, 4)}, -0.3, 0.3);
    return s.keep(
        conv_transpose1d(x, weight, s.or_none(s.leaf({outputs})), s.rng.from(1, 3), s.rng.from(0, 1), 0, groups, 1));
  }
  if (is_line) {
    const Ints padding{s.rng.from(0, 2), s.rng.from(0, 2)};
    const int64_t dilation = s.rng.pick({1, 1, 1, 2});
    const int64_t kernel = kernel_for(s.size(x, 2), padding[0] + padding.back(), dilation);
    const double size = 1 / std::sqrt(double(channels / groups * kernel));
    return s.keep(conv1d(x, s.leaf({outputs, channels / groups, kernel}, -size, size), s.or_none(s.leaf({outputs})),
                         s.rng.pick({1, 1, 2, 3}), padding, dilation, groups));
  }
  if (s.rng.chance(0.15)) {  // the other way: with steps, places that nothing reaches
    const int64_t step = s.rng.from(1, 2), less = s.rng.from(0, 1), more = s.rng.from(0, step - 1);
    const Ints steps{step, step}, kernel{3, s.rng.from(2, 4)};
    const Tensor weight = s.leaf({channels, outputs / groups, kernel[0], kernel[1]}, -0.3, 0.3);
    return s.keep(
        conv_transpose2d(x, weight, s.or_none(s.leaf({outputs})), steps, {less, 0}, {more, 0}, groups, {1, 1}));
  }
  const bool is_plain = s.rng.chance(0.5);
  const Ints stride = is_plain ? Ints{1, 1} : Ints{s.rng.from(1, 3), s.rng.from(1, 3)};
  const Ints dilation = is_plain || s.rng.chance(0.7) ? Ints{1, 1} : Ints{2, s.rng.from(1, 2)};
  const Ints padding =
      is_plain ? Ints{1, 1, 1, 1} : Ints{s.rng.from(0, 2), s.rng.from(0, 2), s.rng.from(0, 3), s.rng.from(0, 2)};
  const Ints kernel{kernel_for(s.size(x, 2), padding[0] + padding[1], dilation[0]),
                    kernel_for(s.size(x, 3), padding[2] + padding[3], dilation[1])};
  const double size = 1 / std::sqrt(double(channels / groups * kernel[0] * kernel[1]));
  s.keep(conv2d(x, s.leaf({outputs, channels / groups, kernel[0], kernel[1]}, -size, size),
                s.or_none(s.leaf({outputs})), stride, padding, dilation, groups));
}

inline void make_pool(RandomStep& s) {
  const bool is_line = s.rng.chance(0.3);
  const Tensor x = image_of(s, is_line ? 3 : 4);
  const auto kernel_for = [&](int64_t axis) { return std::min(s.rng.from(1, 3), s.size(x, axis)); };
  const int64_t width = kernel_for(-1), stride = s.rng.from(1, 3);
  const bool is_up = s.rng.chance(0.3), counts = s.rng.chance(0.7);
  // Elements that lie apart as far as the axis has them.
  const auto gap_for = [&](int64_t axis, int64_t kernel) {
    const bool is_apart = kernel > 1 && s.rng.chance(0.2);
    return is_apart ? std::max<int64_t>((s.size(x, axis) - 1) / (kernel - 1), 1) : int64_t(1);
  };
  if (is_line) {
    switch (s.rng.from(0, 2)) {
      case 0: return s.keep(max_pool1d(x, width, stride, s.rng.from(0, width / 2), gap_for(-1, width), is_up));
      case 1: return s.keep(avg_pool1d(x, width, stride, s.rng.from(0, width / 2), counts, is_up));
      default: return s.keep(adaptive_avg_pool1d(x, s.rng.from(1, 6)));
    }
  }
  const int64_t height = kernel_for(-2);
  const Ints padding{s.rng.from(0, height / 2), s.rng.from(0, width / 2)};
  switch (s.rng.from(0, 4)) {
    case 0: {
      const Ints gaps{gap_for(-2, height), gap_for(-1, width)};
      return s.keep(max_pool2d(x, {height, width}, {stride, s.rng.from(1, 2)}, padding, gaps, is_up));
    }
    case 1:
      if (std::min(s.size(x, -1), s.size(x, -2)) < 2) return s.keep(relu(x));
      return s.keep(max_pool2d(x, {2, 2}, {2, 2}, {0, 0}, {1, 1}, is_up));
    case 2: return s.keep(avg_pool2d(x, {height, width}, {stride, stride}, padding, counts, is_up));
    case 3: return s.keep(adaptive_avg_pool2d(x, {s.rng.from(1, 5), s.rng.from(1, 5)}));
    default: return s.keep(dropout2d(x, 0.3));
  }
}

}  // namespace ltr::plan::random_step
