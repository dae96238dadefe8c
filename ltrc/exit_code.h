#pragma once

namespace ltr::driver {

/// What ltrc ends with: `language.md` 6.
enum ExitCode : int {
  kOk = 0,
  kErrors = 1,         ///< the program has errors, or a test failed
  kUsage = 2,          ///< unknown command or option, no such file
  kInternal = 70,      ///< a mistake of ltrc itself
  kInterrupted = 130,  ///< Ctrl-C ended what has no other end
};

}  // namespace ltr::driver
