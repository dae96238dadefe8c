#pragma once

// Other programs of the system, asked and waited for.

#include <chrono>

#include "ltr/api.h"

namespace ltr::cli {

struct CommandEnd {
  Option<int>
      code;  ///< what it exited with; nothing: it could not be started, was killed, took too long or said too much
  Str text;  ///< what it wrote
};

/// Runs `words`, the first one found on the path, with no input. Its errors are dropped, or stand in the text, too. After
/// `limit` it is killed.
CommandEnd run_command(const std::vector<Str>& words, std::chrono::milliseconds limit, bool with_errors = false);

}  // namespace ltr::cli
