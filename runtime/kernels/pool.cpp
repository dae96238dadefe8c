#include "runtime/kernels/pool.h"

#include <cmath>
#include <cstring>
#include <type_traits>

#include "runtime/kernels/instruction_set.h"

#define LTR_KERNELS "runtime/kernels/pool.inc"
#include "runtime/kernels/versions.inc"

namespace ltr::kernels {

const PoolKernel& pool_kernel() {
  static const PoolKernel& chosen = *LTR_FOR_THIS_MACHINE(kPools);
  return chosen;
}

}  // namespace ltr::kernels
