#pragma once

// A curve as text, for the terminal.

#include <vector>

#include "ltr/api.h"

namespace ltr::cli {

struct TextPlot {
  struct Point {
    double x = 0;
    double y = 0;
    bool is_marked = false;
  };
  std::vector<Point> points;  ///< their x in any order; all of it finite
  Str first, last;            ///< what stands below the least and the largest x
  Str (*name_of)(double y);   ///< of the least and the largest y, left of the axis
};

/// In `width` columns; "" for less than two points.
Str draw(const TextPlot& plot, size_t width);

}  // namespace ltr::cli
