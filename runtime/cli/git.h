#pragma once

// Facts of the repository that a run was started in.

#include "ltr/api.h"

namespace ltr::cli {

struct GitFacts {
  Str commit;
  Str branch;
  Str remote;  ///< without user information and query
  bool is_dirty = false;
  Str diff;  ///< uncommitted changes, "" if none or above 1 MiB
};

/// Of the repository around `folder`; nothing without git, without a repository, or after 2 s.
Option<GitFacts> read_git(const Str& folder);

}  // namespace ltr::cli
