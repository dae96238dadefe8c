#pragma once

// How far to go along a line: to where the loss has fallen enough and its slope is flat enough, the strong conditions of Wolfe.
// Nocedal and Wright 2006, algorithms 3.5 and 3.6, with the constants of PyTorch's L-BFGS.

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>

namespace ltr::optim {

/// A point of the line, `t` directions away from its start.
struct LinePoint {
  double t = 0;
  double loss = 0;
  double slope = 0;  ///< of the loss along the line
  at::Tensor gradient;
};

struct LineSearch {
  double longest;       ///< the largest element of the direction
  double tolerance;     ///< of a weight: where less than that is left to choose from, the search ends
  int64_t evaluations;  ///< at most, beside the first
};

struct LineFound {
  LinePoint point;
  int64_t evaluations;
};

/// Begins `t` directions from `start`, down whose slope the line goes.
LineFound strong_wolfe(const LinePoint& start, double t, const LineSearch& search,
                       const std::function<LinePoint(double t)>& evaluate);

}  // namespace ltr::optim
