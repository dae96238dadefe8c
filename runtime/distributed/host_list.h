#pragma once

// Lists of hosts, as SLURM writes them.

#include <vector>

#include "ltr/api.h"

namespace ltr::distributed {

/// The hosts that `n[01-03,7],m2` means, in this order: n01 n02 n03 n7 m2. Nothing for what is no such list.
Option<std::vector<Str>> expand_hosts(const Str& list);

}  // namespace ltr::distributed
