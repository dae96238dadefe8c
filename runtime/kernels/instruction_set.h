#pragma once

// Which of the versions of a kernel this machine takes.

#include <ATen/Version.h>

#include <string>

namespace ltr::kernels {

/// That for the instruction set that LibTorch computes with, or null where there is none for it.
template <class Kernel>
const Kernel* for_this_machine(const Kernel* avx512, const Kernel* avx2) {
  const std::string set = at::get_cpu_capability();
  return set == "AVX512" ? avx512 : set == "AVX2" ? avx2 : nullptr;
}

}  // namespace ltr::kernels
