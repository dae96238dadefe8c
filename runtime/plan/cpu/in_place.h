#pragma once

// Which values take the memory of others.

#include "runtime/plan/cpu/schedule.h"

namespace ltr::plan {

/// By root, that whose memory it has: itself, or one that a call reads for the last time as it writes this one. `phases` of all
/// stretches; `bytes` by root; `stays`: roots with memory of their own, which nothing is written over.
std::vector<ValueId> owners_of(const std::vector<const Phase*>& phases, const std::vector<int64_t>& bytes,
                               const std::vector<bool>& stays);

}  // namespace ltr::plan
