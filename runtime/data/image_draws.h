#pragma once

// Draws of maps of images: of the record that is at work.

#include <algorithm>
#include <cmath>
#include <optional>
#include <tuple>

#include <ATen/core/Tensor.h>

#include "runtime/tensor/random.h"

namespace ltr {

/// In [low, high).
inline double draw(double low, double high) { return low + (high - low) * (double(random_bits() >> 11) * 0x1.0p-53); }
/// An integer in [0, n).
inline int64_t draw_below(int64_t n) { return std::min(int64_t(draw(0, double(n))), n - 1); }

/// A part of an image.
struct Part {
  int64_t top = 0;
  int64_t left = 0;
  int64_t height = 0;
  int64_t width = 0;

  at::Tensor of(const at::Tensor& image) const { return image.narrow(1, top, height).narrow(2, left, width); }
};

/// A part of `scale` of the area and of `ratio` (width by height); where none fits, the largest in the middle whose ratio is
/// allowed. Szegedy et al. 2015.
inline Part draw_part(int64_t rows, int64_t columns, const std::tuple<double, double>& scale,
                      const std::tuple<double, double>& ratio) {
  const double area = double(rows * columns);
  for (int attempt = 0; attempt < 10; ++attempt) {
    const double wanted = area * draw(std::get<0>(scale), std::get<1>(scale));
    const double aspect = std::exp(draw(std::log(std::get<0>(ratio)), std::log(std::get<1>(ratio))));
    const auto w = int64_t(std::lround(std::sqrt(wanted * aspect)));
    const auto h = int64_t(std::lround(std::sqrt(wanted / aspect)));
    if (w < 1 || h < 1 || w > columns || h > rows) continue;
    const int64_t top = draw_below(rows - h + 1), left = draw_below(columns - w + 1);
    return {top, left, h, w};
  }
  const double aspect = double(columns) / double(rows);
  const double allowed = std::clamp(aspect, std::get<0>(ratio), std::get<1>(ratio));
  const int64_t w = aspect > allowed ? int64_t(std::lround(double(rows) * allowed)) : columns;
  const int64_t h = aspect < allowed ? int64_t(std::lround(double(columns) / allowed)) : rows;
  return {(rows - h) / 2, (columns - w) / 2, h, w};
}

}  // namespace ltr
