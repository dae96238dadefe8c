#include "runtime/data/warp.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include <ATen/ATen.h>

namespace ltr {

namespace {

/// `std::floor` without the call that it costs where the compiler may not assume SSE 4.1.
int64_t round_down(double value) {
  const auto whole = int64_t(value);
  return double(whole) > value ? whole - 1 : whole;
}

/// Planes of height x width.
struct Planes {
  int64_t count;
  int64_t height;
  int64_t width;

  bool has(int64_t x, int64_t y) const { return x >= 0 && x < width && y >= 0 && y < height; }
};

/// Calls `body` with each pixel and the place that it comes from.
template <class Body>
void each_place(const Planes& planes, const Projection& place, const Body& body) {
  const double centre_x = double(planes.width - 1) / 2;
  const double centre_y = double(planes.height - 1) / 2;
  const double* m = place.m;
  const bool is_affine = m[6] == 0 && m[7] == 0;
  // Beyond this no pixel lies, and a whole number is still exact.
  constexpr double kFar = 1e9;
  for (int64_t y = 0; y < planes.height; ++y) {
    for (int64_t x = 0; x < planes.width; ++x) {
      const double dx = double(x) - centre_x;
      const double dy = double(y) - centre_y;
      const double over = is_affine ? 1 : m[6] * dx + m[7] * dy + 1;
      const double from_x = (m[0] * dx + m[1] * dy + m[2]) / over + centre_x;
      const double from_y = (m[3] * dx + m[4] * dy + m[5]) / over + centre_y;
      const bool is_near = std::abs(from_x) < kFar && std::abs(from_y) < kFar;  // and no NaN
      body(y * planes.width + x, is_near ? from_x : -kFar, is_near ? from_y : -kFar);
    }
  }
}

template <class T>
void warp_bilinear(const T* from, T* to, const Planes& planes, const Projection& place, double outside) {
  const int64_t width = planes.width, area = planes.height * planes.width;
  each_place(planes, place, [&](int64_t pixel, double from_x, double from_y) {
    const int64_t left = round_down(from_x);
    const int64_t top = round_down(from_y);
    const double weight_x = from_x - double(left);
    const double weight_y = from_y - double(top);
    const double corners[4] = {(1 - weight_x) * (1 - weight_y), weight_x * (1 - weight_y), (1 - weight_x) * weight_y,
                               weight_x * weight_y};
    if (planes.has(left, top) && planes.has(left + 1, top + 1)) {
      for (int64_t plane = 0; plane < planes.count; ++plane) {
        const T* at = from + plane * area + top * width + left;
        to[plane * area + pixel] = T(double(at[0]) * corners[0] + double(at[1]) * corners[1] +
                                     double(at[width]) * corners[2] + double(at[width + 1]) * corners[3]);
      }
      return;
    }
    for (int64_t plane = 0; plane < planes.count; ++plane) {
      double value = 0;
      for (int corner = 0; corner < 4; ++corner) {
        const int64_t x = left + corner % 2, y = top + corner / 2;
        value += corners[corner] * (planes.has(x, y) ? double(from[plane * area + y * width + x]) : outside);
      }
      to[plane * area + pixel] = T(value);
    }
  });
}

template <class T>
void warp_nearest(const T* from, T* to, const Planes& planes, const Projection& place, double outside) {
  const int64_t area = planes.height * planes.width;
  each_place(planes, place, [&](int64_t pixel, double from_x, double from_y) {
    // Halves go to the even neighbour, as in torchvision.
    const auto x = int64_t(std::nearbyint(from_x)), y = int64_t(std::nearbyint(from_y));
    for (int64_t plane = 0; plane < planes.count; ++plane) {
      to[plane * area + pixel] = planes.has(x, y) ? from[plane * area + y * planes.width + x] : T(outside);
    }
  });
}

template <class T>
at::Tensor warped_as(const at::Tensor& image, const Planes& planes, const Projection& place, Between between,
                     double outside) {
  at::Tensor out = at::empty_like(image);
  if (between == Between::Nearest)
    warp_nearest(image.const_data_ptr<T>(), out.data_ptr<T>(), planes, place, outside);
  else
    warp_bilinear(image.const_data_ptr<T>(), out.data_ptr<T>(), planes, place, outside);
  return out;
}

}  // namespace

Projection inverse_affine(const Affine& affine) {
  constexpr double kRadians = std::numbers::pi / 180;
  const double turn = affine.degrees * kRadians;
  const double shear_x = affine.shear_x * kRadians, shear_y = affine.shear_y * kRadians;
  // Turned and sheared: R(turn) Sy Sx, whose determinant is 1.
  const double a = std::cos(turn - shear_y) / std::cos(shear_y);
  const double b = -std::cos(turn - shear_y) * std::tan(shear_x) / std::cos(shear_y) - std::sin(turn);
  const double c = std::sin(turn - shear_y) / std::cos(shear_y);
  const double d = -std::sin(turn - shear_y) * std::tan(shear_x) / std::cos(shear_y) + std::cos(turn);
  Projection place{{d / affine.scale, -b / affine.scale, 0, -c / affine.scale, a / affine.scale, 0, 0, 0}};
  double* m = place.m;
  const double x = affine.centre_x, y = affine.centre_y;
  m[2] = x - m[0] * (x + affine.shift_x) - m[1] * (y + affine.shift_y);
  m[5] = y - m[3] * (x + affine.shift_x) - m[4] * (y + affine.shift_y);
  return place;
}

// Eight linear equations for eight numbers: the place that each new corner comes from.
Projection perspective(const Corners& from, const Corners& to, int64_t width, int64_t height) {
  const double centre_x = double(width - 1) / 2, centre_y = double(height - 1) / 2;
  at::Tensor matrix = at::zeros({8, 8}, at::kDouble), places = at::zeros({8, 1}, at::kDouble);
  auto a = matrix.accessor<double, 2>();
  auto b = places.accessor<double, 2>();
  for (int i = 0; i < 4; ++i) {
    const double x = to.at[i].x - centre_x, y = to.at[i].y - centre_y;
    const double found[2] = {from.at[i].x - centre_x, from.at[i].y - centre_y};
    for (int axis = 0; axis < 2; ++axis) {
      const int row = 2 * i + axis;
      a[row][3 * axis] = x;
      a[row][3 * axis + 1] = y;
      a[row][3 * axis + 2] = 1;
      a[row][6] = -x * found[axis];
      a[row][7] = -y * found[axis];
      b[row][0] = found[axis];
    }
  }
  const at::Tensor solved = std::get<0>(at::linalg_lstsq(matrix, places)).contiguous();
  Projection place;
  std::copy_n(solved.const_data_ptr<double>(), 8, place.m);
  return place;
}

at::Tensor warped(const at::Tensor& image, const Projection& place, Between between, double outside) {
  const at::Tensor in = image.contiguous();
  const int64_t height = in.size(-2), width = in.size(-1);
  const Planes planes{in.numel() / std::max(height * width, int64_t(1)), height, width};
  if (in.scalar_type() == at::kDouble) return warped_as<double>(in, planes, place, between, outside);
  if (in.scalar_type() == at::kFloat) return warped_as<float>(in, planes, place, between, outside);
  if (in.scalar_type() == at::kByte && between == Between::Nearest)
    return warped_as<uint8_t>(in, planes, place, between, outside);
  const at::Tensor wide = warped_as<float>(in.to(at::kFloat), planes, place, between, outside);
  return (in.is_floating_point() ? wide : wide.round()).to(in.scalar_type());
}

}  // namespace ltr
