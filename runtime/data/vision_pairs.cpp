// Maps of an image and its mask, which one draw changes alike.

#include <ATen/ATen.h>

#include "ltr/ops.h"
#include "runtime/api/error.h"
#include "runtime/data/image_draws.h"
#include "runtime/data/warp.h"
#include "runtime/tensor/handle.h"
#include "runtime/tensor/host_read.h"

namespace ltr {

namespace {

using Both = std::tuple<Tensor, Tensor>;
using Bounds = std::tuple<double, double>;

/// Classes are taken from the nearest pixel, as torchvision's exact kind does.
at::Tensor resized_mask(const at::Tensor& mask, int64_t height, int64_t width) {
  return at::_upsample_nearest_exact2d(mask.unsqueeze(0), {height, width}).squeeze(0);
}

Both resized(const at::Tensor& image, const at::Tensor& mask, int64_t height, int64_t width) {
  return {resize(give(image), height, width), give(resized_mask(mask, height, width).contiguous())};
}

Both flipped(const Tensor& image, const Tensor& mask, double p, int64_t dim) {
  return guarded([&]() -> Both {
    if (draw(0, 1) >= p) return {image, mask};
    return {give(at::flip(In(image), dim)), give(at::flip(In(mask), dim))};
  });
}

}  // namespace

Both random_flip_pair(const Tensor& image, const Tensor& mask, double p) { return flipped(image, mask, p, -1); }

Both random_vflip_pair(const Tensor& image, const Tensor& mask, double p) { return flipped(image, mask, p, -2); }

Both random_crop_pair(const Tensor& image, const Tensor& mask, int64_t height, int64_t width, int64_t padding,
                      int64_t outside) {
  return guarded([&]() -> Both {
    const std::vector<int64_t> border(4, padding);
    const at::Tensor in = at::constant_pad_nd(In(image), border, 0);
    const at::Tensor classes = at::constant_pad_nd(In(mask), border, outside);
    if (in.size(1) < height || in.size(2) < width) {
      throw error_here(err::shape_check_failed,
                       fmt::format("random_crop_pair: no part of {} x {} in an image of {} x {}", height, width,
                                   in.size(1), in.size(2)));
    }
    const int64_t top = draw_below(in.size(1) - height + 1), left = draw_below(in.size(2) - width + 1);
    const Part part{top, left, height, width};
    return {give(part.of(in).contiguous()), give(part.of(classes).contiguous())};
  });
}

Both random_resized_crop_pair(const Tensor& image, const Tensor& mask, int64_t height, int64_t width,
                              const Bounds& scale, const Bounds& ratio) {
  return guarded([&]() -> Both {
    const In in(image);
    const Part part = draw_part(in->size(1), in->size(2), scale, ratio);
    return resized(part.of(in), part.of(In(mask)), height, width);
  });
}

Both random_rotation_pair(const Tensor& image, const Tensor& mask, double degrees, int64_t outside) {
  return guarded([&]() -> Both {
    const Projection place = inverse_affine({.degrees = draw(-degrees, degrees)});
    return {give(back_to(image, warped(on_host(In(image)), place))),
            give(back_to(mask, warped(on_host(In(mask)), place, Between::Nearest, double(outside))))};
  });
}

Both resize_pair(const Tensor& image, const Tensor& mask, int64_t height, int64_t width) {
  return guarded([&] { return resized(In(image), In(mask), height, width); });
}

}  // namespace ltr
