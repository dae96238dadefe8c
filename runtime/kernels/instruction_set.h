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

/// Whether it multiplies pairs of bf16, and LibTorch was not told to do without the registers for it.
inline bool multiplies_pairs() {
#if defined(__x86_64__)
  return at::get_cpu_capability() == "AVX512" && __builtin_cpu_supports("avx512bf16");
#else
  return false;
#endif
}

}  // namespace ltr::kernels

/// Of the versions of `table` that runtime/kernels/versions.inc made.
#if defined(__x86_64__)
#define LTR_FOR_THIS_MACHINE(table) ::ltr::kernels::for_this_machine(&avx512::table, &avx2::table, &plain::table)
/// Likewise, with LTR_HAS_PAIRS.
#define LTR_FOR_THIS_MACHINE_OR_PAIRS(table) \
  (::ltr::kernels::multiplies_pairs() ? &avx512_pairs::table : LTR_FOR_THIS_MACHINE(table))
#else
#define LTR_FOR_THIS_MACHINE(table) &plain::table
#define LTR_FOR_THIS_MACHINE_OR_PAIRS(table) &plain::table
#endif
