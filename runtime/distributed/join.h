#pragma once

// A process takes its place among the ranks.

#include <memory>

#include "runtime/distributed/place.h"
#include "runtime/train/ranks.h"

namespace ltr::distributed {

/// Meets all other ranks; `exchange_s` is how long one waits for another from then on. One rank alone meets nobody.
std::unique_ptr<Ranks> join(const Place& place, double exchange_s);

}  // namespace ltr::distributed
