#include "runtime/optim/element_kernels.h"

#include "runtime/kernels/instruction_set.h"

#if defined(__x86_64__)
#pragma GCC push_options
#pragma GCC target("avx512f,avx512dq,avx512vl,avx512bw,fma")
namespace ltr::optim::avx512 {
#include "runtime/optim/element_kernels.inc"
}  // namespace ltr::optim::avx512
#pragma GCC pop_options

#pragma GCC push_options
#pragma GCC target("avx2,fma")
namespace ltr::optim::avx2 {
#include "runtime/optim/element_kernels.inc"
}  // namespace ltr::optim::avx2
#pragma GCC pop_options
#endif

namespace ltr::optim {

const ElementKernels* element_kernels() {
#if defined(__x86_64__)
  static const ElementKernels* const chosen = kernels::for_this_machine(&avx512::kElements, &avx2::kElements);
  return chosen;
#else
  return nullptr;
#endif
}

}  // namespace ltr::optim
