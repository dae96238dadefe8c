#pragma once

// In which order threads run the calls of a plan, and where they meet.

#include "runtime/plan/cpu/lowering.h"

namespace ltr::plan {

/// Calls one behind the other, which each thread does for some of its samples at a time: what one gives is still in a cache when
/// the next one reads it.
struct Chain {
  size_t begin = 0, end = 0;
  int64_t samples = 0;  ///< at a time
};

/// What runs between two meetings of all threads: calls of which none needs what another thread does of another one; or a node
/// that the reference runs while they wait.
struct Phase {
  std::vector<Call> calls;
  std::vector<Chain> chains;  ///< all calls, in their order
  Option<size_t> node;
  size_t first_call = 0;  ///< of the plan: a node is one call
};

/// Nodes between which nothing but computing happens.
struct Stretch {
  size_t begin = 0, end = 0;
  std::vector<ValueId> results;  ///< that something else reads behind it
  bool may_be_left_out = false;  ///< in some runs, as the gradient of a loss that is not finite
};

/// As few phases as dependences and memory allow: a call runs as soon as it may, ahead of others in front of it. `bytes` of each root,
/// of a batch of `samples`.
std::vector<Phase> schedule(std::vector<Item> items, const std::vector<int64_t>& bytes, int64_t samples);

}  // namespace ltr::plan
