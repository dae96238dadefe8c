#pragma once

// `recompute at Layer` in plans: memory for time, and no other bits.

#include <set>

#include "runtime/plan/graph.h"

namespace ltr::plan {

/// The nodes of `graph` from `begin` on differentiate those in front of `end`. What they read inside of a call of a block that is
/// computed again they read of copies of its nodes, which stand in front of the first of them: so nothing of it lives between. What was read of `written`,
/// which is another value by then, stays.
void compute_again(Graph& graph, size_t end, size_t begin, const std::set<ValueId>& written);

}  // namespace ltr::plan
