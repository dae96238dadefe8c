#include "runtime/kernels/lstm.h"

#include <cstring>
#include <type_traits>

#include "runtime/kernels/instruction_set.h"

#define LTR_INLINE_LAMBDA __attribute__((always_inline))

// One source, compiled once for each instruction set: GCC's vectors become the machine's where the target says so.
#if defined(__x86_64__)
#pragma GCC push_options
#pragma GCC target("avx512f,avx512dq,avx512vl,avx512bw,fma")
#define LTR_LANES 16
namespace ltr::kernels::avx512 {
namespace {
#include "runtime/kernels/lanes.inc"

#include "runtime/kernels/tile.inc"

#include "runtime/kernels/lstm.inc"
}  // namespace
}  // namespace ltr::kernels::avx512
#undef LTR_LANES
#undef LTR_INLINE
#pragma GCC pop_options

#pragma GCC push_options
#pragma GCC target("avx2,fma")
#define LTR_LANES 8
namespace ltr::kernels::avx2 {
namespace {
#include "runtime/kernels/lanes.inc"

#include "runtime/kernels/tile.inc"

#include "runtime/kernels/lstm.inc"
}  // namespace
}  // namespace ltr::kernels::avx2
#undef LTR_LANES
#undef LTR_INLINE
#pragma GCC pop_options
#endif

namespace ltr::kernels {

const LstmKernel* lstm_kernel() {
#if defined(__x86_64__)
  static const LstmKernel* const chosen = for_this_machine(&avx512::kLstm, &avx2::kLstm);
  return chosen;
#else
  return nullptr;
#endif
}

}  // namespace ltr::kernels
