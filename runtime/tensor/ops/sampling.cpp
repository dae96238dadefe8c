#include <ATen/ATen.h>
#include <ATen/native/GridSamplerUtils.h>

#include "ltr/ops.h"
#include "runtime/tensor/exact.h"

namespace ltr {

Tensor grid_sample(const Tensor& x, const Tensor& grid, const Str& mode, const Str& outside, bool align_corners) {
  using at::native::GridSamplerInterpolation, at::native::GridSamplerPadding;
  const auto between = mode == "bilinear"  ? GridSamplerInterpolation::Bilinear
                       : mode == "nearest" ? GridSamplerInterpolation::Nearest
                                           : GridSamplerInterpolation::Bicubic;
  const auto beyond = outside == "zeros"    ? GridSamplerPadding::Zeros
                      : outside == "border" ? GridSamplerPadding::Border
                                            : GridSamplerPadding::Reflection;
  return exactly(
      [&](const at::Tensor& image, const at::Tensor& places) {
        return at::grid_sampler(image, places, int64_t(between), int64_t(beyond), align_corners);
      },
      x, grid);
}

}  // namespace ltr
