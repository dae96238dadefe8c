#include "runtime/optim/element_kernels.h"

#include <ATen/Version.h>

#include <string>

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
  static const ElementKernels* const chosen = []() -> const ElementKernels* {
#if defined(__x86_64__)
    const std::string set = at::get_cpu_capability();
    if (set == "AVX512") return &avx512::kElements;
    if (set == "AVX2") return &avx2::kElements;
#endif
    return nullptr;
  }();
  return chosen;
}

}  // namespace ltr::optim
