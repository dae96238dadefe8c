#include "runtime/kernels/product.h"

#include <cstring>
#include <type_traits>

#include "runtime/kernels/instruction_set.h"

#define LTR_HAS_PAIRS
#define LTR_KERNELS "runtime/kernels/product.inc"
#include "runtime/kernels/versions.inc"

namespace ltr::kernels {

const ProductKernel& product_kernel() {
  static const ProductKernel& chosen = *LTR_FOR_THIS_MACHINE(kProduct);
  return chosen;
}

const ProductKernel& narrow_product_kernel() {
  static const ProductKernel& chosen = *LTR_FOR_THIS_MACHINE_OR_PAIRS(kNarrowProduct);
  return chosen;
}

}  // namespace ltr::kernels
