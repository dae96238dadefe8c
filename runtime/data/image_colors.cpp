#include "runtime/data/image_colors.h"

#include <ATen/ATen.h>
#include <algorithm>

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
