#pragma once

// Colours of images `[C, H, W]`, as torchvision's transforms v2 change them: bytes are computed in f32 and cut off.

#include <ATen/core/Tensor.h>

namespace ltr {

inline bool is_bytes(const at::Tensor& image) { return !image.is_floating_point(); }
/// The largest value that a pixel may have: 255 of bytes, else 1.
double top_of(const at::Tensor& image);
/// Numbers for bytes, other images as they are.
at::Tensor widened(const at::Tensor& image);

at::Tensor brightened(const at::Tensor& image, double factor);
at::Tensor contrasted(const at::Tensor& image, double factor);
/// Of one channel: the image.
at::Tensor saturated(const at::Tensor& image, double factor);
/// Colours of an image of three channels turned by `turn` of the whole circle, with the value and saturation that they have.
at::Tensor hue_turned(const at::Tensor& image, double turn);
at::Tensor sharpened(const at::Tensor& image, double factor);
/// Of bytes.
at::Tensor equalized(const at::Tensor& image);
/// 0.2989 red + 0.587 green + 0.114 blue as `[1, H, W]`, in numbers.
at::Tensor gray_of(const at::Tensor& image);

}  // namespace ltr
