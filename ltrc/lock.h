#pragma once

#include <string>

#include "ltrc/compile.h"

namespace ltr::driver {

/// W1001 for each file of data or weights that `compilation`, of the program `file`, reads and that is not as the
/// `ltr.lock` beside the program has it. Nothing where there is none.
void warn_of_lock(const std::string& file, Compilation& compilation);

}  // namespace ltr::driver
