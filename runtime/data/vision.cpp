// `std.vision`: maps for images, and what hooks need to show them.

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <numbers>

#include "doors/png.h"
#include "ltr/ops.h"
#include "runtime/api/error.h"
#include "runtime/tensor/handle.h"
#include "runtime/tensor/host_read.h"
#include "runtime/tensor/random.h"

namespace ltr {

namespace {

double uniform(double low, double high) { return low + (high - low) * (double(random_bits() >> 11) * 0x1.0p-53); }

/// `std::floor` without the call that it costs where the compiler may not assume SSE 4.1.
int64_t round_down(double value) {
  const auto whole = int64_t(value);
  return double(whole) > value ? whole - 1 : whole;
}

/// Bilinear samples of `image` (planes of height x width) at `matrix * (x, y)` around the centre; outside is 0.
template <class T>
void warp(const T* from, T* to, int64_t planes, int64_t height, int64_t width, const double (&matrix)[6]) {
  const double centre_x = double(width - 1) / 2;
  const double centre_y = double(height - 1) / 2;
  for (int64_t y = 0; y < height; ++y) {
    for (int64_t x = 0; x < width; ++x) {
      const double dx = double(x) - centre_x;
      const double dy = double(y) - centre_y;
      const double source_x = matrix[0] * dx + matrix[1] * dy + matrix[2] + centre_x;
      const double source_y = matrix[3] * dx + matrix[4] * dy + matrix[5] + centre_y;
      const int64_t left = round_down(source_x);
      const int64_t top = round_down(source_y);
      const double weight_x = source_x - double(left);
      const double weight_y = source_y - double(top);
      const double corners[4] = {(1 - weight_x) * (1 - weight_y), weight_x * (1 - weight_y), (1 - weight_x) * weight_y,
                                 weight_x * weight_y};
      if (left >= 0 && left + 1 < width && top >= 0 && top + 1 < height) {
        for (int64_t plane = 0; plane < planes; ++plane) {
          const T* pixel = from + (plane * height + top) * width + left;
          to[(plane * height + y) * width + x] =
              T(double(pixel[0]) * corners[0] + double(pixel[1]) * corners[1] + double(pixel[width]) * corners[2] +
                double(pixel[width + 1]) * corners[3]);
        }
        continue;
      }
      const bool has_left = left >= 0 && left < width;
      const bool has_right = left + 1 >= 0 && left + 1 < width;
      const bool has_top = top >= 0 && top < height;
      const bool has_bottom = top + 1 >= 0 && top + 1 < height;
      for (int64_t plane = 0; plane < planes; ++plane) {
        const T* pixels = from + plane * height * width;
        double value = 0;
        if (has_top && has_left) value += double(pixels[top * width + left]) * corners[0];
        if (has_top && has_right) value += double(pixels[top * width + left + 1]) * corners[1];
        if (has_bottom && has_left) value += double(pixels[(top + 1) * width + left]) * corners[2];
        if (has_bottom && has_right) value += double(pixels[(top + 1) * width + left + 1]) * corners[3];
        to[plane * height * width + y * width + x] = T(value);
      }
    }
  }
}

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

Tensor random_affine(const Tensor& image, double degrees, double translate, const std::tuple<double, double>& scale) {
  const at::Tensor in =
      on_host(In(image)).contiguous();  // a map of records; one in a step may be given what is elsewhere
  if (in.dim() < 2 || !in.is_floating_point()) {
    throw error_here(err::shape_check_failed, "random_affine takes float[…, H, W]");
  }
  const int64_t height = in.size(-2);
  const int64_t width = in.size(-1);
  const double angle = uniform(-degrees, degrees) * std::numbers::pi / 180;
  // torchvision draws whole pixels.
  const double shift_x = std::round(uniform(-translate, translate) * double(width));
  const double shift_y = std::round(uniform(-translate, translate) * double(height));
  const double factor = uniform(std::get<0>(scale), std::get<1>(scale));
  const double c = std::cos(angle) / factor;
  const double s = std::sin(angle) / factor;
  // The inverse of: rotate by `angle`, scale by `factor`, then shift.
  const double matrix[6] = {c, s, -c * shift_x - s * shift_y, -s, c, s * shift_x - c * shift_y};
  at::Tensor out = at::empty_like(in);
  const int64_t planes = in.numel() / std::max(height * width, int64_t(1));
  if (in.scalar_type() == at::kDouble) {
    warp(in.const_data_ptr<double>(), out.data_ptr<double>(), planes, height, width, matrix);
  } else if (in.scalar_type() == at::kFloat) {
    warp(in.const_data_ptr<float>(), out.data_ptr<float>(), planes, height, width, matrix);
  } else {
    const at::Tensor wide = in.to(at::kFloat);
    at::Tensor warped = at::empty_like(wide);
    warp(wide.const_data_ptr<float>(), warped.data_ptr<float>(), planes, height, width, matrix);
    out = warped.to(in.scalar_type());
  }
  return give(out.to(In(image)->device()));
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
