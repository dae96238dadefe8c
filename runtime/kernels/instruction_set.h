#pragma once

// Which of the versions of a kernel this machine takes.

#include <ATen/Version.h>

#include <string>

namespace ltr::kernels {

/// That for the instruction set that LibTorch computes with; `other` where there is none for it.
template <class Kernel>
const Kernel* for_this_machine(const Kernel* avx512, const Kernel* avx2, const Kernel* other = nullptr) {
  const std::string set = at::get_cpu_capability();
  return set == "AVX512" ? avx512 : set == "AVX2" ? avx2 : other;
}

}  // namespace ltr::kernels

/// Of the versions of `table` that runtime/kernels/versions.inc made.
#if defined(__x86_64__)
#define LTR_FOR_THIS_MACHINE(table) ::ltr::kernels::for_this_machine(&avx512::table, &avx2::table, &plain::table)
#else
#define LTR_FOR_THIS_MACHINE(table) &plain::table
#endif
