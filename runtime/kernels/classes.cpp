#include "runtime/kernels/classes.h"

#include <cmath>
#include <cstring>
#include <type_traits>

#include "runtime/kernels/instruction_set.h"

#define LTR_KERNELS "runtime/kernels/classes.inc"
#include "runtime/kernels/versions.inc"

namespace ltr::kernels {

const ClassKernel& class_kernel() {
  static const ClassKernel& chosen = *LTR_FOR_THIS_MACHINE(kClassFunctions);
  return chosen;
}

}  // namespace ltr::kernels
