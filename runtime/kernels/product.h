#pragma once

// Products of matrices: rows of the left one, as they lie, with panels of the right one, whose columns were packed side by side. Of
// floats; or of floats that are rounded to bf16, with sums in floats.

#include <cstdint>

namespace ltr::kernels {

/// A matrix as it lies: element (i, j) is at[i · row + j · column].
struct Matrix {
  const float* at = nullptr;
  int64_t row = 0, column = 0;
};

/// The left side as `pack_rows` made it, or by rows: word k of row r is at[r · row + k · column].
struct Words {
  const float* at = nullptr;
  int64_t row = 0, column = 0;
  int64_t step = 0;  ///< from the first row of a tile to that of the next, for each row of it
};

/// Where a further part of sums begins, from where their first one does.
struct SumPart {
  int64_t left = 0, panel = 0;
};

/// out[r][c] = Σ over k < depth of left(r, k) · panel[k][c], for the columns of one panel.
struct PanelProduct {
  Matrix left;
  Words words;  ///< in place of `left`, where they are
  int64_t rows = 0, depth = 0;
  const float* panel = nullptr;  ///< [lines][panel width], zeros behind the last column
  int64_t panel_row = 0;         ///< from one line of the panel to the next, where it lies in a matrix of whole vectors
  int64_t columns = 0;           ///< that there are, at most the width
  /// Sums over `depth` of each of `part_count` parts, in place of the one at the beginnings. Of `words` where a kernel narrows.
  const SumPart* parts = nullptr;
  int64_t part_count = 1;
  float* out = nullptr;
  int64_t out_row = 0;              ///< from one row of `out` to the next
  const float* bias = nullptr;      ///< [columns], added to each row; or null
  const float* row_bias = nullptr;  ///< [rows], added to all columns; or null
  bool adds = false;                ///< to what is in `out`, instead of to nothing
  float scale = 1;                  ///< of the sums
};

/// The functions for one instruction set. What a row gets does not hang on the rows beside it.
struct ProductKernel {
  int64_t width = 0;      ///< columns of a panel
  int64_t rows = 0;       ///< of a tile
  int64_t depth = 0;      ///< of a sum that a line of a panel holds: 1, or 2 where numbers of two bytes lie in pairs
  int64_t few = 0;        ///< columns that `multiply_few` takes; 0 where there is none
  const char* type = "";  ///< for people, of what is multiplied where it is not floats
  int64_t panels(int64_t columns) const { return (columns + width - 1) / width; }
  /// Of sums of `of` products; what is not the last part of a sum begins and ends with whole lines.
  int64_t lines(int64_t of) const { return (of + depth - 1) / depth; }
  /// Those at `at`, for rows of `of` products.
  Words tiles(const float* at, int64_t of) const { return {at, 1, rows, lines(of)}; }
  bool narrows() const { return type[0] != 0; }
  /// Rows [0, depth) of `columns` columns of `from` become a panel.
  void (*pack)(const Matrix& from, int64_t depth, int64_t columns, float* panel);
  /// What was written as [depth][width] floats becomes a panel, in place.
  void (*settle)(float* panel, int64_t depth);
  /// Rows of a left side become tiles [lines][rows], each with its rows side by side.
  void (*pack_rows)(const Matrix& from, int64_t rows, int64_t depth, float* tiles);
  void (*multiply)(const PanelProduct& product);
  /// Up to `few` columns: of `right` as it lies, in place of a panel that would be mostly zeros. Rows of `left` lie side by side; there is no
  /// `row_bias`, and `scale` is 1. Sums are those of `multiply`, to the last digit.
  void (*multiply_few)(const PanelProduct& product, const Matrix& right);
  /// to[c · to_row + r] = from[r · from_row + c].
  void (*turn)(const float* from, int64_t from_row, int64_t rows, int64_t columns, float* to, int64_t to_row);
  /// Up to `width` samples, `from_row` apart, of [channels][places] side by side: to[place · to_place + channel · width + sample], zeros
  /// behind the last sample.
  void (*join_samples)(const float* from, int64_t from_row, int64_t samples, int64_t channels, int64_t places,
                       float* to, int64_t to_place);
  /// Rows of a left side that lie side by side, [rows][lines] of words, and up to a vector behind them; null where floats are as they lie.
  void (*round_rows)(const Matrix& from, int64_t rows, int64_t depth, float* words);
};

const ProductKernel& product_kernel();
/// Of operands in bf16, rounded to the nearest, of two the even one.
const ProductKernel& narrow_product_kernel();

}  // namespace ltr::kernels
