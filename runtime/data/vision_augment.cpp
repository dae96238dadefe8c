// Augmentation by drawn operations, and mixtures of the images of a batch, as in torchvision's transforms v2.

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "ltr/ops.h"
#include "runtime/api/error.h"
#include "runtime/data/image_colors.h"
#include "runtime/data/image_draws.h"
#include "runtime/data/warp.h"
#include "runtime/tensor/handle.h"
#include "runtime/tensor/host_read.h"

namespace ltr {

namespace {

/// Steps of strength.
constexpr int64_t kBins = 31;

/// How strong each operation may be at most.
struct Strengths {
  double shear;
  double shift_x;  ///< pixels
  double shift_y;
  double degrees;
  double color;
  double bits;  ///< that `posterize` takes away
};

enum class Operation : uint8_t {
  Identity,
  ShearX,
  ShearY,
  ShiftX,
  ShiftY,
  Turn,
  Brightness,
  Saturation,
  Contrast,
  Sharpness,
  Posterize,
  Solarize,
  AutoContrast,
  Equalize,
};
constexpr int64_t kOperations = int64_t(Operation::Equalize) + 1;

at::Tensor displaced(const at::Tensor& image, const Affine& affine) {
  return warped(image, inverse_affine(affine), Between::Nearest);
}

/// The strength of step `bin` of those from `weakest` to `strongest`: in f32, as those whose twin this is.
double strength(double weakest, double strongest, int64_t bin) {
  return double(at::linspace(weakest, strongest, kBins, at::TensorOptions().dtype(at::kFloat))[bin].item<float>());
}

/// `sign` is that of what has one.
at::Tensor applied(const at::Tensor& image, Operation operation, int64_t bin, double sign, const Strengths& most) {
  const auto signed_strength = [&](double strongest) { return strength(0, strongest, bin) * sign; };
  const double degrees_of_shear = std::atan(signed_strength(most.shear)) * 180 / std::numbers::pi;
  const double factor = 1 + signed_strength(most.color);
  // Shears are around the upper left corner.
  const double left = -double(image.size(2)) / 2, top = -double(image.size(1)) / 2;
  switch (operation) {
    case Operation::Identity: return image;
    case Operation::ShearX: return displaced(image, {.shear_x = degrees_of_shear, .centre_x = left, .centre_y = top});
    case Operation::ShearY: return displaced(image, {.shear_y = degrees_of_shear, .centre_x = left, .centre_y = top});
    case Operation::ShiftX: return displaced(image, {.shift_x = std::trunc(signed_strength(most.shift_x))});
    case Operation::ShiftY: return displaced(image, {.shift_y = std::trunc(signed_strength(most.shift_y))});
    case Operation::Turn: return displaced(image, {.degrees = -signed_strength(most.degrees)});
    case Operation::Brightness: return brightened(image, factor);
    case Operation::Saturation: return saturated(image, factor);
    case Operation::Contrast: return contrasted(image, factor);
    case Operation::Sharpness: return sharpened(image, factor);
    case Operation::Posterize:
      return aten(posterize(give(image), 8 - int64_t(std::nearbyint(double(bin) * most.bits / double(kBins - 1)))));
    case Operation::Solarize: return aten(solarize(give(image), 255 * strength(1, 0, bin)));
    case Operation::AutoContrast: return aten(auto_contrast(give(image)));
    case Operation::Equalize: return equalized(image);
  }
  return image;
}

/// Normal, by Box and Muller.
double draw_normal() { return std::sqrt(-2 * std::log(1 - draw(0, 1))) * std::cos(2 * std::numbers::pi * draw(0, 1)); }

/// Of the gamma distribution of scale 1 (Marsaglia and Tsang 2000).
double draw_gamma(double shape) {
  if (shape < 1) return draw_gamma(shape + 1) * std::pow(1 - draw(0, 1), 1 / shape);
  const double d = shape - 1.0 / 3, c = 1 / std::sqrt(9 * d);
  while (true) {
    const double x = draw_normal();
    const double v = std::pow(1 + c * x, 3);
    if (v > 0 && std::log(1 - draw(0, 1)) < 0.5 * x * x + d - d * v + d * std::log(v)) return d * v;
  }
}

/// Of Beta(alpha, alpha). Both may be too small for a number: then it is one of its ends.
double draw_beta(double alpha) {
  const double a = draw_gamma(alpha), b = draw_gamma(alpha);
  return a + b > 0 ? a / (a + b) : double(draw_below(2));
}

/// The neighbour of each in the batch.
at::Tensor rolled(const at::Tensor& batch) { return at::roll(batch, {1}, {0}); }

/// Labels as shares of classes, `own` of the own one and the rest of the neighbour's.
Tensor shares_of(const Tensor& labels, int64_t classes, double own, const at::Tensor& like) {
  const In in(labels);
  const at::Tensor outside = at::logical_or(*in < 0, *in >= classes);
  if (outside.any().item<bool>())
    throw error_here(err::value_out_of_range, fmt::format("a label of the batch is none of {} classes", classes));
  const at::Tensor each = at::one_hot(*in, classes).to(like.scalar_type());
  return give(each * own + rolled(each) * (1 - own));
}

}  // namespace

Tensor equalize(const Tensor& image) {
  return guarded([&] { return give(back_to(image, equalized(on_host(In(image))))); });
}

Tensor sharpness(const Tensor& image, double factor) {
  return guarded([&] { return give(sharpened(In(image), factor)); });
}

Tensor random_perspective(const Tensor& image, double distortion, double p) {
  return guarded([&] {
    if (draw(0, 1) >= p) return image;
    const at::Tensor in = on_host(In(image));
    const int64_t height = in.size(1), width = in.size(2);
    const auto most_y = int64_t(distortion * double(height / 2)) + 1,
               most_x = int64_t(distortion * double(width / 2)) + 1;
    const double right = double(width - 1), bottom = double(height - 1);
    const Corners from{{{0, 0}, {right, 0}, {right, bottom}, {0, bottom}}};
    Corners to;
    to.at[0] = {double(draw_below(most_x)), double(draw_below(most_y))};
    to.at[1] = {right - double(draw_below(most_x)), double(draw_below(most_y))};
    to.at[2] = {right - double(draw_below(most_x)), bottom - double(draw_below(most_y))};
    to.at[3] = {double(draw_below(most_x)), bottom - double(draw_below(most_y))};
    return give(back_to(image, warped(in, perspective(from, to, width, height))));
  });
}

Tensor rand_augment(const Tensor& image, int64_t ops, int64_t magnitude) {
  return guarded([&] {
    at::Tensor out = on_host(In(image));
    const Strengths most{0.3, 150.0 / 331 * double(out.size(2)), 150.0 / 331 * double(out.size(1)), 30, 0.9, 4};
    for (int64_t i = 0; i < ops; ++i) {
      const auto operation = Operation(draw_below(kOperations));
      const double sign = draw(0, 1) <= 0.5 ? -1 : 1;
      out = applied(out, operation, magnitude, sign, most);
    }
    return give(back_to(image, out));
  });
}

Tensor trivial_augment(const Tensor& image) {
  return guarded([&] {
    const Strengths most{0.99, 32, 32, 135, 0.99, 6};
    const auto operation = Operation(draw_below(kOperations));
    const int64_t bin = draw_below(kBins);
    const double sign = draw(0, 1) <= 0.5 ? -1 : 1;
    return give(back_to(image, applied(on_host(In(image)), operation, bin, sign, most)));
  });
}

std::tuple<Tensor, Tensor> mixup(const Tensor& images, const Tensor& labels, int64_t classes, double alpha) {
  return guarded([&] {
    const In in(images);
    const double own = draw_beta(alpha);
    return std::tuple(give(*in * own + rolled(in) * (1 - own)), shares_of(labels, classes, own, in));
  });
}

std::tuple<Tensor, Tensor> cutmix(const Tensor& images, const Tensor& labels, int64_t classes, double alpha) {
  return guarded([&] {
    const In in(images);
    const int64_t height = in->size(2), width = in->size(3);
    const double half = 0.5 * std::sqrt(1 - draw_beta(alpha));
    const int64_t x = draw_below(width), y = draw_below(height);
    const auto half_x = int64_t(half * double(width)), half_y = int64_t(half * double(height));
    const int64_t left = std::max<int64_t>(x - half_x, 0), right = std::min(x + half_x, width);
    const int64_t top = std::max<int64_t>(y - half_y, 0), bottom = std::min(y + half_y, height);
    at::Tensor out = in->clone();
    const auto part = [&](const at::Tensor& batch) {
      return batch.narrow(2, top, bottom - top).narrow(3, left, right - left);
    };
    part(out).copy_(part(rolled(in)));
    const double own = 1 - double((right - left) * (bottom - top)) / double(width * height);
    return std::tuple(give(out), shares_of(labels, classes, own, in));
  });
}

}  // namespace ltr
