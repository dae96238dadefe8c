#pragma once

// Convolutions by kernels of 3 × 3 with stride 1 from fewer products: four places of the output, 2 × 2 of them, from 16 sums in place
// of 36 (Winograd's F(2 × 2, 3 × 3), as Lavin and Gray 2016 have it).
//
// A tile is 2 × 2 places of the output; it reads the 4 × 4 elements of the image from its first place on. An image lies as four phases: the
// elements of even and odd lines and columns. With lines one tile longer than there are tiles, element (i, j) of all
// tiles is one line of memory: of phase (i % 2, j % 2), from i / 2 lines and j / 2 places on. The tile behind each line is of
// no use; nor is the line of tiles behind each of several images, one below the other.

#include <cstdint>

namespace ltr::kernels {

/// Channels as phases: phase (y, x) of channel c is at[c · 4 · size + (2 y + x) · size].
struct Phases {
  float* at = nullptr;
  int64_t size = 0;   ///< of a phase
  int64_t pitch = 0;  ///< of its lines: tiles and one more
};

/// One channel of an image, without the zeros in front of it.
struct Plane {
  const float* at = nullptr;
  int64_t height = 0, width = 0;
  int64_t front_y = 0, front_x = 0;
};

/// Numbers of tiles, for each of 16 sums: number t of row r for sum e is at[e · step + r · row + t]. What products read of them is words of
/// ProductKernel.
struct Sums {
  float* at = nullptr;
  int64_t step = 0, row = 0;
};

/// The functions for one instruction set. Counts of tiles are multiples of `lanes`.
struct WinogradKernel {
  int64_t lanes = 0;
  /// `lines` of all phases, zeros where the image is not. `to`: of one channel; up to a vector and a place behind them is written.
  void (*split)(const Plane& image, int64_t lines, const Phases& to);
  /// What 2 × 2 places became, side by side. `from`: of one channel; up to a vector behind its lines is read.
  void (*join)(const Phases& from, int64_t height, int64_t width, float* image);
  /// Bᵀ d B of `tiles` from `first` on, as panels of tiles whose lines are of channels.
  void (*read_lines)(const Phases& from, int64_t channels, int64_t first, int64_t tiles, const Sums& to);
  /// Likewise, a row of words along the tiles for each channel.
  void (*read_rows)(const Phases& from, int64_t channels, int64_t first, int64_t tiles, const Sums& to);
  /// Aᵀ m A + bias, which may be null.
  void (*write)(const Sums& from, int64_t channels, int64_t first, int64_t tiles, const float* bias, const Phases& to);
  /// A y Aᵀ: how the sums enter a gradient of 2 × 2 places; rows of words along the tiles.
  void (*spread_rows)(const Phases& from, int64_t channels, int64_t first, int64_t tiles, const Sums& to);
};

const WinogradKernel& winograd_kernel();
/// For products of narrow_product_kernel.
const WinogradKernel& narrow_winograd_kernel();

}  // namespace ltr::kernels
