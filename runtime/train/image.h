#pragma once

// Tensors as pictures, histograms and texts, for who shows them.

#include <ATen/core/Tensor.h>

#include "doors/png.h"
#include "doors/tfevents.h"
#include "ltr/api.h"

namespace ltr {

/// `u8`, or float in 0–1: [C, H, W] or [N, C, H, W] (side by side), [H, W] grey. C is 1, 3 or 4; else R1006.
doors::Image image_of(const at::Tensor& image);

/// A matrix as squares of 8 pixels, each row by its sum: white is nothing, dark blue is all.
doors::Image heat_map(const at::Tensor& matrix);

/// Bins of the histogram of a tensor, where nothing else is said.
inline constexpr int64_t kHistogramBins = 30;
/// The finite values of a tensor in `bins` of equal width.
doors::Histogram histogram_of(const at::Tensor& values, int64_t bins = kHistogramBins);

/// The numbers of a matrix.
std::vector<std::vector<double>> rows_of(const at::Tensor& matrix);
/// The number of a tensor of one element, in the fewest digits that give it back; what JSON cannot say is a text there.
Str number_text(const at::Tensor& value, bool is_json);
/// A tensor on the host as lists in lists.
Str json_of(const at::Tensor& tensor);

}  // namespace ltr
