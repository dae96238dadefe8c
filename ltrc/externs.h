#pragma once

#include "codegen/toolchain/extern_file.h"
#include "ltrc/compile.h"

namespace ltr::driver {

/// The text of the header of each C++ file, in the order of the program.
std::vector<std::string> extern_headers(const Compilation& compilation);

/// Compares the program's C++ files with what it declares of them. What differs is reported, the
/// C++ line as label.
void check_externs(Compilation& compilation);

/// Compiles them. Nothing if one does not compile, which is reported.
std::optional<std::vector<toolchain::ExternObject>> build_externs(Compilation& compilation,
                                                                  const toolchain::Installation& installation,
                                                                  const toolchain::CompileOptions& options);

}  // namespace ltr::driver
