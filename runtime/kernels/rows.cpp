#include "runtime/kernels/rows.h"

#include <cmath>
#include <cstring>
#include <type_traits>

#include "runtime/kernels/instruction_set.h"

#define LTR_KERNELS "runtime/kernels/rows.inc"
#include "runtime/kernels/versions.inc"

namespace ltr::kernels {

const RowKernel& row_kernel() {
  static const RowKernel& chosen = *LTR_FOR_THIS_MACHINE(kRowFunctions);
  return chosen;
}

}  // namespace ltr::kernels
