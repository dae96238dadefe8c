#pragma once

// In which order threads run the calls of a plan, and where they meet.

#include "runtime/plan/cpu/lowering.h"

namespace ltr::plan {

/// What runs between two meetings of all threads: calls of which none needs what another thread does of another one; or a node
/// that the reference runs while they wait.
struct Phase {
  std::vector<Call> calls;
  Option<size_t> node;
};

/// Nodes between which nothing but computing happens.
struct Stretch {
  size_t begin = 0, end = 0;
  std::vector<ValueId> results;  ///< that something else reads behind it
};

/// As few phases as dependences and memory allow: a call runs as soon as it may, ahead of others in front of it. `bytes` of each root.
std::vector<Phase> schedule(std::vector<Item> items, const std::vector<int64_t>& bytes);

}  // namespace ltr::plan
