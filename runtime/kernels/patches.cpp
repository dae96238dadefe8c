#include "runtime/kernels/patches.h"

#include <cstring>

#include "runtime/kernels/instruction_set.h"

#define LTR_KERNELS "runtime/kernels/patches.inc"
#include "runtime/kernels/versions.inc"

namespace ltr::kernels {

const PatchKernel& patch_kernel() {
  static const PatchKernel& chosen = *LTR_FOR_THIS_MACHINE(kPatches);
  return chosen;
}

}  // namespace ltr::kernels
