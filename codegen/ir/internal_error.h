#pragma once

#include <stdexcept>
#include <string>

#include "codegen/ir/step.h"

namespace ltr::ir {

/// A broken invariant of the compiler. Only `ltrc` catches it: it says that this is our bug, and exits 70.
struct InternalError : std::runtime_error {
  InternalError(const std::string& message, Loc where) : std::runtime_error(message), loc(where) {}
  Loc loc;
};

}  // namespace ltr::ir

#define LTR_INVARIANT(condition, message, loc) \
  if (!(condition)) throw ::ltr::ir::InternalError((message), (loc))
