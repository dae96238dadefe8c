#pragma once

#include <string>

#include "codegen/ir/tables.h"

namespace ltr::emit {

/// The C++ program of a module with tables. `path` is the file that it will be written to, for `#line`.
std::string emit(const ir::Module& module, const std::string& path);

/// `NAME.ltr.h`: the prototypes that a C++ file of the program must define. Where `LTR_EXTERN_CHECK` is set they stand in
/// the name space `ltr_expected`, so that definitions can be compared with them.
std::string emit_extern_header(const ir::ExternFile& file);

}  // namespace ltr::emit
