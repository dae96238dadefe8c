#pragma once

// Images as convolutions see them: under each place of the output lie the elements that the kernel touches there, one for each
// channel and each place of the kernel. These make panels of them for products, without the matrix ever being whole.

#include <cstdint>

namespace ltr::kernels {

/// Element k = (channel, i, j) under place (y, x) is at[channel · plane + (y · stride_y + i · step_y) · row + x · stride_x + j · step_x].
/// The borders are part of the image, and behind its last element 16 more may be read. Places go on from image to image.
struct Patches {
  const float* at = nullptr;
  int64_t plane = 0, row = 0;
  int64_t kernel_y = 1, kernel_x = 1;
  int64_t step_y = 1, step_x = 1;  ///< from one place of the kernel to the next (dilation)
  int64_t stride_y = 1, stride_x = 1;
  int64_t width = 0;              ///< of the output
  int64_t places = 1, image = 0;  ///< of an image's output, and from one image to the next

  /// Where element `k` is under the first place.
  int64_t element(int64_t k) const {
    const int64_t j = k % kernel_x, i = k / kernel_x % kernel_y;
    return k / (kernel_x * kernel_y) * plane + i * step_y * row + j * step_x;
  }
  int64_t place(int64_t p) const {
    return p / places * image + p % places / width * stride_y * row + p % width * stride_x;
  }
};

/// `width` is that of panels of ProductKernel.
struct PatchKernel {
  /// panel[k][p] = element from + k under place first + p: `depth` rows, and `places` of the columns; the others are anything.
  /// 16 floats behind the panel may be written.
  void (*by_places)(const Patches& patches, int64_t from, int64_t depth, int64_t first, int64_t places, float* panel);
  /// panel[p][k] = element from + k under place first + p: `places` rows, and `elements` of the columns; the others are anything.
  void (*by_elements)(const Patches& patches, int64_t from, int64_t elements, int64_t first, int64_t places,
                      float* panel);
  /// Adds panel[p] to element k under place first + p of `image`, which `patches` describes, for one k.
  void (*add)(const Patches& patches, int64_t k, int64_t first, int64_t places, const float* values, float* image);
};

const PatchKernel& patch_kernel();

}  // namespace ltr::kernels
