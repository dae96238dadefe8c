#pragma once

// Ops of a plan for a CPU that LibTorch computes.

#include "runtime/plan/graph.h"

namespace ltr::plan {

/// Whether no kernel computes it, whatever it is given.
bool is_without_kernel(Op op);

/// For people: why LibTorch computes `node`.
Str why_no_kernel(const Graph& graph, const Node& node);

}  // namespace ltr::plan
