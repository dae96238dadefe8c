#pragma once

// What is computed twice, once.

#include "runtime/plan/graph.h"

namespace ltr::plan {

/// Nodes [begin, end) of a graph, which run behind those of the stretches in front of this one.
struct SimplifiedStretch {
  size_t begin = 0, end = 0;
  std::vector<ValueId> kept;     ///< what something beside nodes reads of it
  bool may_be_left_out = false;  ///< then nobody outside may read what it gives instead of what it computes itself
  bool writes_behind = false;    ///< weights or buffers are others from here on
};

/// A node that does what one before it did, the same op of the same values and numbers in the same mode, is left out, and who read what it gave
/// reads what the other one gave. Bits are the same. `stretches` in the order in which they run: all nodes of `graph`, each once.
///
/// It stays where it draws, where it is a batch norm that takes its batch in, reads averages that one takes a batch into, is part of a block
/// that is computed again, or gives what something beside nodes reads; and what was computed before a write stands for nothing behind it.
///
/// Returns where each node is now, the next one that stayed for those that did not; with one place more, the end.
std::vector<size_t> simplify(Graph& graph, const std::vector<SimplifiedStretch>& stretches);

}  // namespace ltr::plan
