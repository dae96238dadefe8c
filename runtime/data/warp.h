#pragma once

// Images seen from elsewhere: turned, moved, sheared, in perspective.

#include <ATen/core/Tensor.h>

namespace ltr {

/// Where a pixel comes from: from its place (x, y), counted from the centre, (m0 x + m1 y + m2, m3 x + m4 y + m5) / (m6 x + m7 y + 1).
struct Projection {
  double m[8] = {1, 0, 0, 0, 1, 0, 0, 0};
};

/// As torchvision's `affine`: scaled, sheared and turned around the centre, then shifted.
struct Affine {
  double degrees = 0;
  double shift_x = 0;
  double shift_y = 0;
  double scale = 1;
  double shear_x = 0;  ///< degrees
  double shear_y = 0;
  double centre_x = 0;  ///< of turns and shears, from that of the image on
  double centre_y = 0;
};
Projection inverse_affine(const Affine& affine);

/// Four places in an image, from the upper left one round.
struct Corners {
  struct Point {
    double x = 0;
    double y = 0;
  };
  Point at[4];
};
/// What brings the corners `from` to `to`.
Projection perspective(const Corners& from, const Corners& to, int64_t width, int64_t height);

/// How pixels between pixels are found.
enum class Between : uint8_t { Bilinear, Nearest };
/// Pixels of `image` (`[…, H, W]`) at their places; outside is `outside`. Bytes are rounded.
at::Tensor warped(const at::Tensor& image, const Projection& place, Between between = Between::Bilinear,
                  double outside = 0);

}  // namespace ltr
