#pragma once

// The tree of instances of one model: what generated constructors build through `Scope`.

#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "ltr/api.h"

namespace ltr {

/// A weight or buffer and the place that registered it.
struct Entry {
  Str path;  ///< whole: `net.body.3.attn.qkv.weight`
  Tensor tensor;
  bool trained = true;
  Location location;
  bool is_weight = true;  ///< declared as one; a frozen one is not trained
};

/// A block of the tree, outermost first.
struct BlockEntry {
  Str path;  ///< "" for the model
  Str kind;  ///< name of its declaration
  int64_t depth = 0;
  int64_t own_weights = 0;  ///< elements of the weights registered right here
  int64_t all_weights = 0;  ///< and below
};

/// One group of an optimizer, as resolved.
struct GroupEntry {
  Str pattern;  ///< "" for the weights that no group took
  std::vector<Str> paths;
  std::vector<std::pair<Str, Value>> settings;
};
struct OptimizerEntry {
  Str name;
  Str rule;      ///< `AdamW`
  Str schedule;  ///< as text, "" if none
  std::vector<GroupEntry> groups;
  double state_bytes = 0;  ///< what it keeps for its weights once all have moved
};

/// Gives the final value of `model.opt.lr` and the like, or of what the program says. See Settings::get.
using Override = std::function<Value(const char* path, const char* type, const Value& given, const Location&)>;

/// Owns the tree. Blocks, weights and optimizers live as long as it.
class ModelRoot {
 public:
  /// `seed` keys the initial values; `overrides` may be empty.
  explicit ModelRoot(int64_t seed, Override overrides = {});
  ~ModelRoot();
  ModelRoot(const ModelRoot&) = delete;
  ModelRoot& operator=(const ModelRoot&) = delete;

  Scope scope();
  /// Applies what is left of `init`, builds the optimizers and checks that patterns match. Once, after the model is
  /// built and before anything runs.
  void finish();

  /// What blocks of the kind `kind` give is computed again in the backward pass; false if there is none.
  bool recompute_at(const Str& kind);

  const std::vector<Entry>& weights() const;
  const std::vector<Entry>& buffers() const;
  std::vector<BlockEntry> blocks() const;
  std::vector<OptimizerEntry> optimizers() const;
  RootState& state() { return *state_; }
  const RootState& state() const { return *state_; }

 private:
  std::unique_ptr<RootState> state_;
};

}  // namespace ltr
