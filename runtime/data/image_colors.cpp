#include "runtime/data/image_colors.h"

#include <ATen/ATen.h>
#include <algorithm>
#include <vector>

namespace ltr {

namespace {

at::Tensor cut_off(const at::Tensor& value, const at::Tensor& like) {
  return value.clamp(0, top_of(like)).to(like.scalar_type());
}

/// factor · image + (1 - factor) · other.
at::Tensor blended(const at::Tensor& image, const at::Tensor& other, double factor) {
  return cut_off(widened(image) * factor + other * (1 - factor), image);
}

/// Bytes of grey are whole.
at::Tensor whole_gray_of(const at::Tensor& image) {
  const at::Tensor gray = image.size(0) == 3 ? gray_of(image) : widened(image);
  return is_bytes(image) ? gray.floor() : gray;
}

}  // namespace

double top_of(const at::Tensor& image) { return is_bytes(image) ? 255 : 1; }

at::Tensor widened(const at::Tensor& image) { return is_bytes(image) ? image.to(at::kFloat) : image; }

at::Tensor gray_of(const at::Tensor& image) {
  const at::Tensor wide = widened(image);
  return (wide[0] * 0.2989 + wide[1] * 0.587 + wide[2] * 0.114).unsqueeze(0);
}

at::Tensor brightened(const at::Tensor& image, double factor) { return cut_off(widened(image) * factor, image); }

at::Tensor contrasted(const at::Tensor& image, double factor) {
  return blended(image, whole_gray_of(image).mean(), factor);
}

at::Tensor saturated(const at::Tensor& image, double factor) {
  return image.size(0) == 1 ? image : blended(image, whole_gray_of(image), factor);
}

// HSV of Smith 1978. A channel is value · (1 - saturation · max(0, min(k, 4 - k, 1))), where k is the hue in sixths of the circle, counted
// from a place of its own: 5 for red, 3 for green, 1 for blue.
at::Tensor hue_turned(const at::Tensor& image, double turn) {
  const at::Tensor wide = is_bytes(image) ? image.to(at::kFloat) / 255 : image;
  const at::Tensor red = wide[0], green = wide[1], blue = wide[2];
  const at::Tensor most = wide.amax(0), range = most - wide.amin(0);
  const at::Tensor divisor = at::where(range == 0, at::ones_like(range), range);
  const at::Tensor hue = at::where(most == red, (green - blue) / divisor,
                                   at::where(most == green, (blue - red) / divisor + 2, (red - green) / divisor + 4));
  std::vector<at::Tensor> channels;
  for (const double place : {5.0, 3.0, 1.0}) {
    const at::Tensor k = at::remainder(hue + (place + 6 * turn), 6);
    channels.push_back(most - range * at::minimum(k, 4 - k).clamp(0, 1));
  }
  const at::Tensor turned = at::stack(channels).clamp(0, 1);
  // torchvision cuts 256 steps, where everything else rounds.
  return is_bytes(image) ? (turned * (256 - 1e-3)).to(at::kByte) : turned;
}

at::Tensor sharpened(const at::Tensor& image, double factor) {
  const int64_t channels = image.size(0), height = image.size(1), width = image.size(2);
  if (height <= 2 || width <= 2) return image;
  at::Tensor out = widened(image).clone();
  at::Tensor kernel = at::full({channels, 1, 3, 3}, 1.0 / 13, out.options());
  kernel.select(2, 1).select(2, 1).fill_(5.0 / 13);
  at::Tensor smooth = at::conv2d(out.unsqueeze(0), kernel, at::Tensor(), at::IntArrayRef{1}, at::IntArrayRef{0},
                                 at::IntArrayRef{1}, channels)
                          .squeeze(0);
  if (is_bytes(image)) smooth = smooth.round();
  // The border stays as it is.
  at::Tensor inner = out.narrow(1, 1, height - 2).narrow(2, 1, width - 2);
  inner.add_(smooth - inner, 1 - factor);
  return cut_off(out, image);
}

at::Tensor equalized(const at::Tensor& image) {
  at::Tensor out = at::empty_like(image, at::MemoryFormat::Contiguous);
  const at::Tensor in = image.contiguous();
  const int64_t area = in.size(1) * in.size(2);
  for (int64_t channel = 0; channel < in.size(0); ++channel) {
    const auto* from = in.const_data_ptr<uint8_t>() + channel * area;
    auto* to = out.data_ptr<uint8_t>() + channel * area;
    int64_t counts[256] = {};
    for (int64_t i = 0; i < area; ++i) ++counts[from[i]];
    int last = 255;
    while (last > 0 && counts[last] == 0) --last;
    // As Pillow: steps of equal numbers of pixels, those of the largest value apart.
    const int64_t step = (area - counts[last]) / 255;
    uint8_t table[256];
    int64_t before = 0;
    for (int value = 0; value < 256; ++value) {
      table[value] = step == 0 ? uint8_t(value) : uint8_t(std::min<int64_t>((before + step / 2) / step, 255));
      before += counts[value];
    }
    for (int64_t i = 0; i < area; ++i) to[i] = table[from[i]];
  }
  return out;
}

}  // namespace ltr
