#pragma once

#include <string>

#include "codegen/ir/step.h"

namespace ltr::emit {

/// The C++ program of a module with tables. `path` is the file that it will be written to, for `#line`.
std::string emit(const ir::Module& module, const std::string& path);

}  // namespace ltr::emit
