#pragma once

// What this binary is made of.

#include "ltr/program.h"

namespace ltr::cli {

Str libtorch_version();
Str compiler_version();
/// The page of the verb `version`.
Str version_text(const Program& program);

}  // namespace ltr::cli
