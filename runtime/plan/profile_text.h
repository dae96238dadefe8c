#pragma once

#include "runtime/kernels/product.h"
#include "runtime/plan/cpu/stopwatch.h"

namespace ltr::plan {

/// What a planned step took.
struct Measured {
  int64_t runs = 0;
  double seconds = 0;  ///< of all of them, from the batch to the last update
  int threads = 1;
  const kernels::ProductKernel* products = &kernels::product_kernel();
  std::vector<CallCost> costs;  ///< the last one: what threads waited
};

/// For people: where the time went, by line of the program and by kernel, against what a thread of this machine reaches.
Str profile_text(const Measured& measured);

}  // namespace ltr::plan
