#pragma once

// Which of the ranks failed first: the one that is told about, and whose exit code is that of all.

#include <torch/csrc/distributed/c10d/Store.hpp>

#include "runtime/api/error.h"

namespace ltr::distributed {

struct Failure {
  int64_t rank = 0;
  int exit_code = 1;
};

/// Who failed, if somebody has.
Option<Failure> first_failure(c10d::Store& store);
/// Says that `own` failed. Gives another one that was before it.
Option<Failure> tell_failure(c10d::Store& store, const Failure& own);

}  // namespace ltr::distributed
