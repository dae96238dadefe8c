#pragma once

// Which rank failed first. Where one fails, all others lose it, and only the first has something to say (runtime.md 12).

#include "runtime/distributed/place.h"

namespace ltr::distributed {

struct Failure {
  int64_t rank = 0;
  int exit_code = 1;
};

/// Says at the meeting point that `own` failed, unless another one was before it; the first of all. `is_consequence`: the
/// error says that another rank is lost, which its supervisor may be about to say. `own` where nobody can be asked.
Failure first_failure(const Place& place, const Failure& own, bool is_consequence);

}  // namespace ltr::distributed
