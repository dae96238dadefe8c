#include "runtime/kernels/winograd.h"

#include <cstring>

#include "runtime/kernels/instruction_set.h"

#define LTR_KERNELS "runtime/kernels/winograd.inc"
#include "runtime/kernels/versions.inc"

namespace ltr::kernels {

const WinogradKernel& winograd_kernel() {
  static const WinogradKernel& chosen = *LTR_FOR_THIS_MACHINE(kWinograd);
  return chosen;
}

}  // namespace ltr::kernels
