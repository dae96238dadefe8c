#pragma once

// Pictures with captions, side by side.

#include <span>

#include <ATen/core/Tensor.h>

#include "doors/png.h"
#include "ltr/api.h"

namespace ltr {

struct Tile {
  at::Tensor picture;  ///< [C, H, W] or [H, W] on the host; floats beyond 0 to 1 are brought there, the least to 0
  Str caption;         ///< digits and `>`: what else there is leaves a gap
  bool is_marked = false;
};

/// RGB, `columns` to a row, two black pixels apart. Small pictures are enlarged, all alike; captions stand below, marked ones in red.
doors::Image picture_grid(std::span<const Tile> tiles, int64_t columns);

}  // namespace ltr
