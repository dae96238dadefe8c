#pragma once

// Reverse mode on graphs.

#include "runtime/plan/graph.h"

namespace ltr::plan {

/// The nodes before `end` of `graph`, and behind them those that give the gradient of the scalar value `loss` by each of `by`:
/// `seed` is the gradient of `loss` itself. Where a loss does not reach a value its gradient is kNone.
struct Differentiated {
  std::vector<ValueId> gradients;  ///< of each of `by`
  std::vector<size_t> of;          ///< of each node that was appended: the one that it differentiates
  /// Why there are none: an op without a gradient on the way, and where it stands.
  Option<std::pair<Str, Location>> refusal;
};
/// Appends to `graph`.
Differentiated differentiate(Graph& graph, size_t end, ValueId loss, ValueId seed, const std::vector<ValueId>& by);

}  // namespace ltr::plan
