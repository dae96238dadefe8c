#pragma once

#include "runtime/kernels/product.h"

namespace ltr::plan {

/// What one thread of this machine reaches at most, measured in a few hundredths of a second.
struct MachinePeak {
  double products = 0;  ///< multiply-adds a second, of panels that stay in a cache
  double bytes = 0;     ///< a second, read from memory and written to it
};
MachinePeak measure_peak(const kernels::ProductKernel& kernel);

}  // namespace ltr::plan
