// `std.vision`: maps for images, and what hooks need to show them.

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>

#include "doors/png.h"
#include "ltr/ops.h"
#include "runtime/api/error.h"
#include "runtime/data/warp.h"
#include "runtime/tensor/handle.h"
#include "runtime/tensor/host_read.h"
#include "runtime/tensor/random.h"

namespace ltr {

namespace {

double uniform(double low, double high) { return low + (high - low) * (double(random_bits() >> 11) * 0x1.0p-53); }

/// `u8`, or `float` in 0 to 1 (clamped), of shape [H, W] or [C, H, W] with C of 1 to 4; R1006 otherwise.
doors::Image to_image(const Tensor& tensor) {
  at::Tensor in = aten(tensor).detach().to(at::kCPU);
  if (in.dim() == 2) in = in.unsqueeze(0);
  if (in.dim() != 3 || in.size(0) < 1 || in.size(0) > 4) {
    throw error_here(err::shape_check_failed,
                     fmt::format("an image is [H, W] or [C, H, W] with 1 to 4 channels, not [{}]",
                                 fmt::join(in.sizes().begin(), in.sizes().end(), ", ")));
  }
  if (in.scalar_type() != at::kByte) {
    in = at::nan_to_num(in.to(at::kFloat)).clamp(0, 1).mul(255).round().to(at::kByte);
  }
  in = in.permute({1, 2, 0}).contiguous();
  doors::Image image{in.size(1), in.size(0), in.size(2), {}};
  const auto* pixels = in.const_data_ptr<uint8_t>();
  image.pixels.assign(pixels, pixels + in.numel());
  return image;
}

}  // namespace

Tensor random_affine(const Tensor& image, double degrees, double translate, const std::tuple<double, double>& scale,
                     double shear) {
  const at::Tensor in = on_host(In(image));  // a map of records; one in a step may be given what is elsewhere
  if (in.dim() < 2) throw error_here(err::shape_check_failed, "random_affine takes […, H, W]");
  const int64_t height = in.size(-2);
  const int64_t width = in.size(-1);
  const double angle = uniform(-degrees, degrees);
  // torchvision draws whole pixels.
  const double shift_x = std::round(uniform(-translate, translate) * double(width));
  const double shift_y = std::round(uniform(-translate, translate) * double(height));
  const double factor = uniform(std::get<0>(scale), std::get<1>(scale));
  const double lean = shear != 0 ? uniform(-shear, shear) : 0;
  const Projection place =
      inverse_affine({.degrees = angle, .shift_x = shift_x, .shift_y = shift_y, .scale = factor, .shear_x = lean});
  return give(back_to(image, warped(in, place)));
}

Tensor image_grid(const Tensor& images, int64_t columns) {
  constexpr int64_t kPadding = 2;
  const at::Tensor in = aten(images);
  if (in.dim() != 4 || in.size(0) == 0)
    throw error_here(err::shape_check_failed, "image_grid takes [N, C, H, W], N > 0");
  if (columns < 1) throw error_here(err::out_of_range, "image_grid: columns", columns, "columns >= 1");
  const int64_t count = in.size(0);
  const int64_t across = std::min(columns, count);
  const int64_t down = (count + across - 1) / across;
  const int64_t height = in.size(2) + kPadding;
  const int64_t width = in.size(3) + kPadding;
  at::Tensor grid = at::zeros({in.size(1), down * height + kPadding, across * width + kPadding}, in.options());
  for (int64_t i = 0; i < count; ++i) {
    grid.narrow(1, i / across * height + kPadding, in.size(2))
        .narrow(2, i % across * width + kPadding, in.size(3))
        .copy_(in[i]);
  }
  return give(std::move(grid));
}

void save_png(const Tensor& image, const Str& path) {
  const doors::Image picture = to_image(image);
  const std::filesystem::path target(path);
  std::error_code failed;
  if (target.has_parent_path()) std::filesystem::create_directories(target.parent_path(), failed);
  std::ofstream file(target, std::ios::binary | std::ios::trunc);
  const Str bytes = doors::encode_png(picture);
  file.write(bytes.data(), std::streamsize(bytes.size()));
  file.close();
  if (!file) throw error_here(err::cannot_write, path, std::generic_category().message(errno));
}

}  // namespace ltr
