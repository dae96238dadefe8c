#pragma once

// How errors are shown: code, message, `.ltr` line with its text, cure.

#include <vector>

#include "ltr/program.h"
#include "runtime/api/error.h"

namespace ltr::cli {

/// `error[R2004]: …`, with the source line if the program holds it.
Str render(const Error& error, const Program& program);
/// All of them, each once, in order.
Str render(const std::vector<Error>& errors, const Program& program);
/// The exit code of the first.
int exit_code(const std::vector<Error>& errors);

/// `file:line`, short enough for a table; "" for nowhere.
Str place(const Location& location);

}  // namespace ltr::cli
