#include "runtime/tensor/determinism.h"

#include <ATen/Context.h>

#include <cstdlib>

namespace ltr {

void set_determinism(const Str& mode) {
  at::Context& context = at::globalContext();
  context.setDeterministicAlgorithms(mode != "false", mode == "warn");
  // Or every tensor that is made empty would be filled.
  context.setDeterministicFillUninitializedMemory(false);
  // cuBLAS reads it at its first call: with one workspace of fixed size its products are summed in one order.
  if (mode != "false") ::setenv("CUBLAS_WORKSPACE_CONFIG", ":4096:8", 0);
}

}  // namespace ltr
