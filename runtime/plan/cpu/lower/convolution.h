#pragma once

// Sizes of convolutions, and their other way: runtime/kernels/winograd.h.

#include <algorithm>
#include <cstring>

#include "runtime/kernels/patches.h"
#include "runtime/plan/cpu/lowering.h"

namespace ltr::plan {

struct Axis {
  int64_t in = 1, out = 1, kernel = 1, stride = 1, dilation = 1, front = 0, behind = 0;
  int64_t padded() const { return in + front + behind; }
};

/// Sizes of a convolution of [samples, groups · inputs, y, x].
struct Geometry {
  const kernels::ProductKernel* products_by = nullptr;
  int64_t samples = 0, groups = 1;
  int64_t inputs = 0, outputs = 0;  ///< channels of a group
  Axis y, x;

  int64_t depth() const { return inputs * y.kernel * x.kernel; }
  int64_t places() const { return y.out * x.out; }
  int64_t image() const { return y.in * x.in; }
  int64_t padded() const { return y.padded() * x.padded(); }

  /// Of images of `channels`, one behind the other.
  kernels::Patches patches(const float* image, int64_t channels) const {
    return {image,      padded(), x.padded(), y.kernel, x.kernel, y.dilation,
            x.dilation, y.stride, x.stride,   x.out,    places(), channels * padded()};
  }
  /// Images to take together so that they have about `most` places.
  int64_t together(int64_t most) const { return std::clamp<int64_t>(most / places(), 1, samples); }
  /// `channels` of them, with their borders.
  void pad(const float* from, int64_t channels, float* to) const {
    const int64_t width = x.padded();
    for (int64_t c = 0; c < channels; ++c) {
      for (int64_t line = 0; line < y.padded(); ++line, to += width) {
        const int64_t at = line - y.front;
        if (at < 0 || at >= y.in) {
          std::memset(to, 0, size_t(width) * sizeof(float));
          continue;
        }
        std::fill_n(to, x.front, 0.0F);
        std::memcpy(to + x.front, from + (c * y.in + at) * x.in, size_t(x.in) * sizeof(float));
        std::fill_n(to + x.front + x.in, x.behind, 0.0F);
      }
    }
  }
  /// Without their borders.
  void crop(const float* from, int64_t channels, float* to) const {
    for (int64_t c = 0; c < channels; ++c) {
      for (int64_t line = 0; line < y.in; ++line)
        std::memcpy(to + (c * y.in + line) * x.in, from + (c * y.padded() + line + y.front) * x.padded() + x.front,
                    size_t(x.in) * sizeof(float));
    }
  }
  double products() const {
    return double(samples) * double(groups) * double(outputs) * double(depth()) * double(places());
  }
  Str text() const {
    return fmt::format("[{}, {}, {}, {}] {} outputs of {} x {}{}", samples, groups * inputs, y.in, x.in,
                       groups * outputs, y.kernel, x.kernel, type_of(*products_by));
  }
};

/// out = bias + weight * x, the way that suits its sizes; all lie side by side, x and `out` apart by samples.
void convolve(Lowering& to, const Geometry& of, const Layout& x, const Layout& weight, const Layout& bias,
              const Layout& out, const char* name);
/// out = bias + what a gradient `from` of the results of `of` gives its input.
void convolve_back(Lowering& to, const Geometry& of, const Layout& from, const Layout& weight, const Layout& bias,
                   const Layout& out);
/// The gradient of the weight.
void sum_weight(Lowering& to, const Geometry& of, const Layout& gradient, const Layout& x, const Layout& out);

/// Nothing where sums of tiles are the faster way.
Str why_no_tiles(const Geometry& of);
bool fits_winograd(const Geometry& of);
/// out = bias + weight * x. `bias` may have no root; the weight may be that of a convolution whose gradient by input this is.
void convolve_by_tiles(Lowering& to, const Geometry& of, const Layout& x, const Layout& weight, bool is_turned,
                       const Layout& bias, const Layout& out, const char* name);
/// The gradient of the weight.
void weight_gradient_by_tiles(Lowering& to, const Geometry& of, const Layout& gradient, const Layout& x,
                              const Layout& out);

/// Whether its images are so small, and its samples so many, that samples side by side are the faster way.
bool fits_lanes(const Geometry& of);
void convolve_in_lanes(Lowering& to, const Geometry& of, const Layout& x, const Layout& weight, const Layout& bias,
                       const Layout& out);
/// out = bias + what a gradient of the results gives its input.
void convolve_back_in_lanes(Lowering& to, const Geometry& of, const Layout& gradient, const Layout& weight,
                            const Layout& bias, const Layout& out);
void weight_gradient_in_lanes(Lowering& to, const Geometry& of, const Layout& gradient, const Layout& x,
                              const Layout& out);

}  // namespace ltr::plan
