#include "runtime/kernels/extremes.h"

#include <cmath>
#include <cstring>
#include <type_traits>

#include "runtime/kernels/instruction_set.h"

#define LTR_KERNELS "runtime/kernels/extremes.inc"
#include "runtime/kernels/versions.inc"

namespace ltr::kernels {

const ExtremeKernel& extreme_kernel() {
  static const ExtremeKernel& chosen = *LTR_FOR_THIS_MACHINE(kExtremes);
  return chosen;
}

}  // namespace ltr::kernels
