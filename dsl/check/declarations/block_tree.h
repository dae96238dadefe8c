#pragma once

#include <string>
#include <vector>

#include "dsl/check/scope/context.h"

namespace ltr::check {

/// A weight or buffer of a built block.
struct TreeTensor {
  std::string name;         ///< what files call it, from the block on: `body.3.norm.weight`
  Type type;                ///< dims in terms of what the block was built from
  std::string shared_with;  ///< the name of the weight that it is, "" for one of its own
};

/// The tensors of a member, and whether these are all: a list whose length only run time knows, or
/// a condition on what it does not know, leaves some unknown.
struct BlockTree {
  std::vector<TreeTensor> tensors;
  bool is_complete = true;
};

/// The tree of `member`, a block or list of blocks of `owner`. `dims` are what the owner's int
/// params stand for, as far as that is known; the others stay symbols. `cx` has files.
BlockTree tree_of(const Member& member, const Object& owner, const std::vector<std::pair<AtomId, Polynomial>>& dims,
                  Context& cx);

}  // namespace ltr::check
