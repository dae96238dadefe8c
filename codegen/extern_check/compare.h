#pragma once

#include <string>
#include <vector>

#include "codegen/extern_check/signature.h"

namespace ltr::extern_check {

/// One line of output: words in a fixed order, first the kind.
///   missing NAME NEAR…                                       no definition of that name that other
///   files can call hidden  NAME FILE LINE COLUMN LENGTH WHERE               it is there, but
///   `static` or in a name space count   NAME FILE LINE COLUMN LENGTH FOUND EXPECTED      takes
///   another number of parameters param   NAME FILE LINE COLUMN LENGTH INDEX PARAM FOUND EXPECTED
///   result  NAME FILE LINE COLUMN LENGTH FOUND EXPECTED
///   error   FILE LINE COLUMN LENGTH MESSAGE                  the file does not compile
///   input   FILE                                             was read
using Finding = std::vector<std::string>;

/// How what the file defines differs from what is expected of it, function by function.
std::vector<Finding> compare(const Reading& reading);

}  // namespace ltr::extern_check
