#pragma once

// What this binary is made of.

#include "ltr/program.h"

namespace ltr::cli {

Str libtorch_version();
Str compiler_version();
/// What the CUDA half was built with and for, and the devices that it finds; or why there is none.
Str cuda_version();

}  // namespace ltr::cli
