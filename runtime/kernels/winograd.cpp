#include "runtime/kernels/winograd.h"

#include <cstring>

#include "runtime/kernels/instruction_set.h"

#define LTR_HAS_PAIRS
#define LTR_KERNELS "runtime/kernels/winograd.inc"
#include "runtime/kernels/versions.inc"

namespace ltr::kernels {

const WinogradKernel& winograd_kernel() {
  static const WinogradKernel& chosen = *LTR_FOR_THIS_MACHINE(kWinograd);
  return chosen;
}

const WinogradKernel& narrow_winograd_kernel() {
  static const WinogradKernel& chosen = *LTR_FOR_THIS_MACHINE_OR_PAIRS(kNarrowWinograd);
  return chosen;
}

}  // namespace ltr::kernels
