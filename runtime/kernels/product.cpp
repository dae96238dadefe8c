#include "runtime/kernels/product.h"

#include <cstring>
#include <type_traits>

#include "runtime/kernels/instruction_set.h"

#define LTR_KERNELS "runtime/kernels/product.inc"
#include "runtime/kernels/versions.inc"

namespace ltr::kernels {

const ProductKernel& product_kernel() {
  static const ProductKernel& chosen = *LTR_FOR_THIS_MACHINE(kProduct);
  return chosen;
}

}  // namespace ltr::kernels
