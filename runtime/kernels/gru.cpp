#include "runtime/kernels/gru.h"

#include <cstring>
#include <type_traits>

#include "runtime/kernels/instruction_set.h"

#define LTR_KERNELS "runtime/kernels/gru.inc"
#include "runtime/kernels/versions.inc"

namespace ltr::kernels {

const GruKernel& gru_kernel() {
  static const GruKernel& chosen = *LTR_FOR_THIS_MACHINE(kGru);
  return chosen;
}

}  // namespace ltr::kernels
