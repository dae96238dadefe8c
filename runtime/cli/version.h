#pragma once

// What this binary is made of.

#include "ltr/program.h"

namespace ltr::cli {

Str libtorch_version();
Str compiler_version();

}  // namespace ltr::cli
