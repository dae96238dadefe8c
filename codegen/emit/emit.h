#pragma once

#include <cstddef>
#include <string>

#include "codegen/ir/tables.h"

namespace ltr::emit {

/// What is emitted has so many parts: the functions of part k stand where bit k of the macro `LTR_PARTS` is set, and all do
/// where it is not defined. So several compilers share one file.
constexpr size_t kParts = 16;

/// The C++ program of a module with tables. `path` is the file that it will be written to, for `#line`.
std::string emit(const ir::Module& module, const std::string& path);

/// `NAME.ltr.h`: the prototypes that a C++ file of the program must define. Where `LTR_EXTERN_CHECK` is set they stand in
/// the name space `ltr_expected`, so that definitions can be compared with them.
std::string emit_extern_header(const ir::ExternFile& file);

}  // namespace ltr::emit
