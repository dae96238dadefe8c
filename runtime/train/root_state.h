#pragma once

// The insides of a ModelRoot.

#include <deque>
#include <memory>
#include <set>
#include <unordered_map>
#include <vector>

#include "runtime/optim/optimizer.h"
#include "runtime/tables/weight_group.h"
#include "runtime/train/division.h"
#include "runtime/train/model_root.h"

namespace ltr {

/// An `init` rule that has not been applied yet.
struct InitRule {
  const char* pattern;
  Tensor (*value)(const void* self, const Ints& shape);
  const void* self;
  Location location;
};

/// Of a block that is computed again in the backward pass: the weights and buffers at and below it.
struct RecomputedBlock {
  Str kind;
  std::vector<at::Tensor> weights, buffers;
};

/// A place in the tree.
struct ScopeState {
  struct Local {
    const char* name;
    size_t entry;  ///< in RootState::entries; a shared weight names the entry of its owner
  };
  RootState* root = nullptr;
  ScopeState* parent = nullptr;
  Str name;
  Str path;
  Str kind;
  int64_t depth = 0;
  std::vector<Local> locals;
  std::vector<ScopeState*> children;  ///< in order of construction
  std::vector<InitRule> inits;
  std::unique_ptr<RecomputedBlock> recomputed;  ///< null: the graph keeps what its forward pass needs
};

struct RootState {
  uint64_t seed = 0;
  Override overrides;
  std::deque<ScopeState> scopes;  ///< the first one is the root; addresses stay
  std::vector<Entry> entries;     ///< weights and buffers, each once
  std::vector<Str> notes;         ///< what people are told of the weights that were loaded
  std::set<size_t> loaded;        ///< of them, those that a file has filled: `init` leaves them alone
  std::unordered_map<const void*, size_t> by_tensor;
  std::vector<std::unique_ptr<Block>> blocks;
  std::vector<std::unique_ptr<Optimizer>> optimizers;
  std::unique_ptr<Division> division;  ///< of the weights among ranks; null: each has all of them
  std::vector<Entry> weights;          ///< filled by finish
  std::vector<Entry> buffers;

  /// The whole path of a registered tensor, or null.
  const Str* path_of(const Tensor& tensor) const;
  /// Whether weights themselves are divided, so that reading one is an exchange.
  bool divides_weights() const;
  /// This rank's part of a weight; null where it is not divided.
  Division::Part* part_of(const at::Tensor& weight) const { return division ? division->find(weight) : nullptr; }
  /// What of a weight or buffer is here: where it is divided this rank's part, undefined if it has none.
  at::Tensor own(const at::Tensor& tensor) const;
  /// Likewise of what goes with a weight and is like `like` as a whole, in a checkpoint.
  void visit_own(Archive& archive, const Str& name, const at::Tensor& weight, at::Tensor& own,
                 const at::Tensor& like) const;
  /// Where a registered tensor lies, the place that registered it first.
  std::vector<WeightPlace> places_of(const Tensor& tensor) const;
};

/// Applies the `init` rules of `scope` to the weights at and below it, in order.
void apply_inits(ScopeState& scope);

}  // namespace ltr
