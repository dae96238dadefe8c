#include "runtime/kernels/pointwise.h"

#include <cstring>
#include <type_traits>

#include "runtime/kernels/instruction_set.h"

#define LTR_KERNELS "runtime/kernels/pointwise.inc"
#include "runtime/kernels/versions.inc"

namespace ltr::kernels {

const PointKernel& point_kernel() {
  static const PointKernel& chosen = *LTR_FOR_THIS_MACHINE(kPoint);
  return chosen;
}

}  // namespace ltr::kernels
