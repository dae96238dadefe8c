// Maps of images `[C, H, W]`, as torchvision's transforms v2 compute them. Most compute bytes in f32 and round.

#include <ATen/ATen.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "ltr/ops.h"
#include "runtime/data/image_colors.h"
#include "runtime/data/image_draws.h"
#include "runtime/tensor/handle.h"
#include "runtime/tensor/precision.h"

namespace ltr {

namespace {

using Pair = std::tuple<double, double>;

/// `value` as the type of `image`, within its range.
at::Tensor narrowed(const at::Tensor& value, const at::Tensor& image) {
  if (value.scalar_type() == image.scalar_type()) return value;
  return value.round().clamp(0, 255).to(image.scalar_type());
}

at::Tensor resized(const at::Tensor& image, int64_t height, int64_t width) {
  if (image.size(1) == height && image.size(2) == width) return image;
  // Bytes have a kernel of their own on the CPU, with weights of 16 bits; f32 and rounding would differ from it in places.
  const bool has_kernel = image.scalar_type() == at::kByte && image.is_cpu();
  const at::Tensor input = has_kernel ? image : widened(image);
  return narrowed(at::_upsample_bilinear2d_aa(input.unsqueeze(0), {height, width}, false).squeeze(0), image);
}

at::Tensor bordered(const at::Tensor& image, int64_t left, int64_t right, int64_t top, int64_t bottom, double value) {
  return at::constant_pad_nd(image, {left, right, top, bottom}, value);
}

}  // namespace

Tensor resize(const Tensor& image, int64_t height, int64_t width) {
  return guarded([&] { return give(resized(In(image), height, width)); });
}

Tensor center_crop(const Tensor& image, int64_t height, int64_t width) {
  return guarded([&] {
    at::Tensor in = aten(image);
    const int64_t more_y = std::max<int64_t>(height - in.size(1), 0), more_x = std::max<int64_t>(width - in.size(2), 0);
    in = bordered(in, more_x / 2, (more_x + 1) / 2, more_y / 2, (more_y + 1) / 2, 0);
    const auto top = int64_t(std::nearbyint(double(in.size(1) - height) / 2));
    const auto left = int64_t(std::nearbyint(double(in.size(2) - width) / 2));
    return give(Part{top, left, height, width}.of(in).contiguous());
  });
}

Tensor random_crop(const Tensor& image, int64_t height, int64_t width, int64_t padding) {
  return guarded([&] {
    at::Tensor in = aten(image);
    if (padding > 0) in = bordered(in, padding, padding, padding, padding, 0);
    if (in.size(1) < height || in.size(2) < width) {
      throw error_here(err::shape_check_failed, fmt::format("random_crop: no part of {} x {} in an image of {} x {}",
                                                            height, width, in.size(1), in.size(2)));
    }
    const int64_t top = draw_below(in.size(1) - height + 1);
    const int64_t left = draw_below(in.size(2) - width + 1);
    return give(Part{top, left, height, width}.of(in).contiguous());
  });
}

Tensor random_resized_crop(const Tensor& image, int64_t height, int64_t width, const Pair& scale, const Pair& ratio) {
  return guarded([&] {
    const In in(image);
    const Part part = draw_part(in->size(1), in->size(2), scale, ratio);
    return give(resized(part.of(in), height, width).contiguous());
  });
}

Tensor random_flip(const Tensor& image, double p) {
  return guarded([&] { return draw(0, 1) < p ? give(at::flip(In(image), -1)) : image; });
}

Tensor random_vflip(const Tensor& image, double p) {
  return guarded([&] { return draw(0, 1) < p ? give(at::flip(In(image), -2)) : image; });
}

Tensor random_rotation(const Tensor& image, double degrees) { return random_affine(image, degrees, 0, {1.0, 1.0}, 0); }

Tensor pad_image(const Tensor& image, int64_t size, double value) {
  return guarded([&] { return give(bordered(In(image), size, size, size, size, value)); });
}

Tensor to_float(const Tensor& image) {
  return guarded([&] {
    const In in(image);
    const at::Tensor wide = in->to(policy_type());
    return give(in->scalar_type() == at::kByte ? wide / 255 : wide);
  });
}

Tensor normalize(const Tensor& image, const Floats& mean, const Floats& std) {
  return guarded([&] {
    const at::Tensor in = aten(to_float(image));
    const auto per_channel = [&](const Floats& values) {
      if (int64_t(values.size()) != in.size(0)) {
        throw error_here(err::shape_check_failed,
                         fmt::format("normalize: {} numbers for {} channels", values.size(), in.size(0)));
      }
      return at::tensor(at::ArrayRef<double>(values), in.options()).reshape({-1, 1, 1});
    };
    return give((in - per_channel(mean)) / per_channel(std));
  });
}

Tensor grayscale(const Tensor& image, int64_t channels) {
  return guarded([&] {
    const In in(image);
    const at::Tensor value = gray_of(in);
    // torchvision cuts a byte here, where everything else rounds.
    const at::Tensor one = is_bytes(in) ? value.to(in->scalar_type()) : value;
    return give(one.expand({channels, in->size(1), in->size(2)}).contiguous());
  });
}

Tensor color_jitter(const Tensor& image, double brightness, double contrast, double saturation, double hue) {
  return guarded([&] {
    if (hue < 0 || hue > 0.5) throw error_here(err::out_of_range, "color_jitter: hue", hue, "0 to 0.5");
    const In in(image);
    at::Tensor value = *in;
    std::vector<int> order = {0, 1, 2};
    if (hue != 0) order.push_back(3);
    for (int64_t i = int64_t(order.size()) - 1; i > 0; --i)
      std::swap(order[size_t(i)], order[size_t(draw_below(i + 1))]);
    for (const int kind : order) {
      if (kind == 3) {
        value = hue_turned(value, draw(-hue, hue));
        continue;
      }
      const double most = kind == 0 ? brightness : kind == 1 ? contrast : saturation;
      if (most == 0) continue;
      const double factor = draw(std::max(0.0, 1 - most), 1 + most);
      if (kind == 0) value = brightened(value, factor);
      if (kind == 1) value = contrasted(value, factor);
      if (kind == 2) value = saturated(value, factor);
    }
    return give(value);
  });
}

Tensor gaussian_blur(const Tensor& image, int64_t kernel, double sigma) {
  return guarded([&] {
    if (kernel < 1 || kernel % 2 == 0)
      throw error_here(err::out_of_range, "gaussian_blur: kernel", kernel, "kernel is odd");
    const In in(image);
    const at::Tensor wide = widened(in);
    const double half = double(kernel - 1) / 2;
    const at::Tensor place = at::linspace(-half, half, kernel, wide.options());
    at::Tensor line = at::exp(place.square() * (-0.5 / (sigma * sigma)));
    line = line / line.sum();
    const int64_t border = kernel / 2, channels = wide.size(0);
    const at::Tensor padded = at::pad(wide.unsqueeze(0), {border, border, border, border}, "reflect");
    const at::Tensor window = at::outer(line, line).expand({channels, 1, kernel, kernel}).contiguous();
    return give(narrowed(
        at::conv2d(padded, window, at::Tensor(), at::IntArrayRef{1}, at::IntArrayRef{0}, at::IntArrayRef{1}, channels)
            .squeeze(0),
        in));
  });
}

Tensor auto_contrast(const Tensor& image) {
  return guarded([&] {
    const In in(image);
    const at::Tensor wide = widened(in);
    const at::Tensor low = wide.amin({1, 2}, true), high = wide.amax({1, 2}, true);
    const at::Tensor stretched = (wide - low) / ((high - low) * (1 / top_of(in)));
    // A channel of one value stays as it is. Bytes are cut off here, not rounded.
    return give(at::where(high == low, wide, stretched).clamp(0, top_of(in)).to(in->scalar_type()));
  });
}

Tensor posterize(const Tensor& image, int64_t bits) {
  return guarded([&] {
    if (bits < 1 || bits > 8) throw error_here(err::out_of_range, "posterize: bits", bits, "1 to 8");
    return give(at::bitwise_and(In(image), int64_t(256 - (1 << (8 - bits)))));
  });
}

Tensor solarize(const Tensor& image, double threshold) {
  return guarded([&] {
    const In in(image);
    const at::Tensor inverted = is_bytes(in) ? at::bitwise_not(in) : 1 - *in;
    return give(at::where(*in >= threshold, inverted, *in));
  });
}

Tensor random_erasing(const Tensor& image, double p, const Pair& scale, const Pair& ratio, double value) {
  return guarded([&] {
    if (draw(0, 1) >= p) return image;
    const In in(image);
    const int64_t rows = in->size(1), columns = in->size(2);
    for (int attempt = 0; attempt < 10; ++attempt) {
      const double area = double(rows * columns) * draw(std::get<0>(scale), std::get<1>(scale));
      const double aspect = std::exp(draw(std::log(std::get<0>(ratio)), std::log(std::get<1>(ratio))));
      const auto h = int64_t(std::lround(std::sqrt(area * aspect)));
      const auto w = int64_t(std::lround(std::sqrt(area / aspect)));
      if (h >= rows || w >= columns || h < 1 || w < 1) continue;
      at::Tensor out = in->clone();
      const int64_t top = draw_below(rows - h + 1), left = draw_below(columns - w + 1);
      Part{top, left, h, w}.of(out).fill_(value);
      return give(out);
    }
    return image;
  });
}

}  // namespace ltr
