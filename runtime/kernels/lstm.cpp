#include "runtime/kernels/lstm.h"

#include <cstring>
#include <type_traits>

#include "runtime/kernels/instruction_set.h"

#define LTR_KERNELS "runtime/kernels/lstm.inc"
#include "runtime/kernels/versions.inc"

namespace ltr::kernels {

const LstmKernel* lstm_kernel() {
  static const LstmKernel* const chosen = LTR_FOR_THIS_MACHINE(kLstm);
  return chosen;
}

}  // namespace ltr::kernels
