#pragma once

// Sizes of gradients that follow from those of what they are made of.

#include "runtime/plan/graph.h"

namespace ltr::plan {

/// Tells the graph the sizes and types of what `node` gives, whose arguments have theirs. False for ops of which no rule is here, whose first run
/// tells; rules are there for what large gradients are made of.
bool tell_sizes(Graph& graph, const Node& node);

}  // namespace ltr::plan
