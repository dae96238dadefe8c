#pragma once

// Convolutions by kernels of 3 × 3 with stride 1 from fewer products: four places of the output, 2 × 2 of them, from 16 sums in place
// of 36 (Winograd's F(2 × 2, 3 × 3), as Lavin and Gray 2016 have it).
//
// A tile is 2 × 2 places of the output; it reads 4 × 4 elements of the image, of which its neighbours read some, too. Tiles lie side by
// side, without a gap from line to line or image to image, so that products have nothing but tiles in their columns.

#include <cstdint>

namespace ltr::kernels {

/// Lines of tiles of one image: [first, first + lines), of `columns` each.
struct TileLines {
  int64_t first = 0, lines = 0, columns = 0;
  int64_t count() const { return lines * columns; }
};

/// What tiles read of a channel, or write to one: number t of each element is at[element · size + t]. Elements are those of 4 × 4 or of
/// 2 × 2, by rows.
struct Elements {
  float* at = nullptr;
  int64_t size = 0;  ///< of tiles, a vector that is written behind them, and what is zero
};

/// One channel of an image, without the zeros in front of it.
struct Plane {
  const float* at = nullptr;
  int64_t height = 0, width = 0;
  int64_t front_y = 0, front_x = 0;
};

/// Numbers of tiles, for each of 16 sums: number t is at[e · step + t] for sum e. What products read of them is
/// words of ProductKernel.
struct Sums {
  float* at = nullptr;
  int64_t step = 0;
  int first = 0, last = 4;  ///< rows of 4 × 4 sums that a row along the tiles has; of the others nothing is written
};

/// Kernels of 3 × 3: of row r and input c at[r · row + c · input + element], or from the last element to the first.
struct Kernels {
  const float* at = nullptr;
  int64_t row = 0, input = 0;
  bool is_turned = false;
};

/// The functions for one instruction set. Counts of tiles are multiples of `lanes`.
struct WinogradKernel {
  int64_t lanes = 0;
  int64_t depth = 0;  ///< channels that a line of a panel holds
  /// G g Gᵀ of the kernels of `rows` rows: for each sum the lines of a tile of products, of `tile` rows, zeros behind those there are.
  void (*sum_kernels)(const Kernels& from, int64_t rows, int64_t inputs, int64_t tile, const Sums& to);
  /// Each of 4 × 4 elements, from number `to.at` on; up to a vector behind the last is written.
  void (*read)(const Plane& image, const TileLines& tiles, const Elements& to);
  /// Likewise, of 2 × 2.
  void (*read_places)(const Plane& image, const TileLines& tiles, const Elements& to);
  /// What 2 × 2 places of tiles became, in the image.
  void (*join)(const Elements& from, const TileLines& tiles, int64_t height, int64_t width, float* image);
  /// Bᵀ d B of `tiles` as the line of a panel: of `channels` channels, at most `depth`, one behind the other.
  void (*sum_lines)(const Elements& from, int64_t channels, int64_t tiles, const Sums& to);
  /// Likewise, of an image as it lies, whose tiles begin with number `begin` of panels that are `panel` apart. False where its lines of tiles
  /// do not make whole vectors: then nothing is done.
  bool (*sum_image_lines)(const Plane& image, int64_t channels, const TileLines& tiles, int64_t begin, int64_t panel,
                          const Sums& to);
  /// Likewise, of one channel, as a row of words along the tiles.
  void (*sum_row)(const Elements& from, int64_t tiles, const Sums& to);
  bool (*sum_image_row)(const Plane& image, const TileLines& tiles, const Sums& to);
  /// Aᵀ m A + bias, of one row.
  void (*write)(const Sums& from, int64_t tiles, float bias, const Elements& to);
  /// A y Aᵀ: how the sums enter a gradient of 2 × 2 places; a row of words along the tiles.
  void (*spread_row)(const Elements& from, int64_t tiles, const Sums& to);
  bool (*spread_image_row)(const Plane& image, const TileLines& tiles, const Sums& to);
};

const WinogradKernel& winograd_kernel();
/// For products of narrow_product_kernel.
const WinogradKernel& narrow_winograd_kernel();

}  // namespace ltr::kernels
