#include "runtime/kernels/norm.h"

#include <cmath>
#include <cstring>
#include <type_traits>

#include "runtime/kernels/instruction_set.h"

#define LTR_KERNELS "runtime/kernels/norm.inc"
#include "runtime/kernels/versions.inc"

namespace ltr::kernels {

const NormKernel& norm_kernel() {
  static const NormKernel& chosen = *LTR_FOR_THIS_MACHINE(kNorms);
  return chosen;
}

}  // namespace ltr::kernels
