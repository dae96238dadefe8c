#pragma once

#include "ltr/api.h"

namespace ltr::cli {

/// A `git diff` without what must not be kept (doors.md 0.5): files that hold secrets (`.env`, keys, credentials) are left
/// out; values of environment variables that are named like secrets, tokens of known services, private keys, passwords in
/// URLs and what is assigned to a name like `api_key` are replaced. Lines in front say what was done.
Str redacted(const Str& diff);

}  // namespace ltr::cli
