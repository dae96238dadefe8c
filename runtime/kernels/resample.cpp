#include "runtime/kernels/resample.h"

#include <cmath>
#include <cstring>
#include <type_traits>

#include "runtime/kernels/instruction_set.h"

#define LTR_KERNELS "runtime/kernels/resample.inc"
#include "runtime/kernels/versions.inc"

namespace ltr::kernels {

const ResampleKernel& resample_kernel() {
  static const ResampleKernel& chosen = *LTR_FOR_THIS_MACHINE(kResampleFunctions);
  return chosen;
}

}  // namespace ltr::kernels
