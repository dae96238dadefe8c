#pragma once

#include "codegen/training_logic/value.h"

namespace ltr::training_logic {

struct Weight {
  std::vector<Scope> places;  ///< several where it is tied
  size_t rank = 0;
  std::vector<std::optional<int64_t>> sizes;  ///< as many; nothing for one that the constructor's arguments do not tell
  bool is_sure = true;                        ///< that it is made does not hang on what only a run knows
  OwnerId owner = 0;
  bool is_read = false;         ///< in a train step, where gradients could reach it
  bool is_reached = false;      ///< of those reads one with a gradient, outside of `frozen` and `no_grad`
  bool is_minimized = false;    ///< a loss reaches it
  bool is_used = false;         ///< read somewhere, in evaluation too
  bool is_read_frozen = false;  ///< in a train step, within `frozen`
  bool is_averaged = false;     ///< written by `ema_update`
  Span averaged_at;             ///< and where
  bool is_frozen = false;       ///< by the `freeze` of a `from`: no optimizer owns it
};

struct Object {
  std::string name;  ///< of its declaration in the module
  Scope scope;
  std::map<std::string, Value> members;  ///< params are `$name`
  std::map<std::string, Span> spans;     ///< of members
  Span span;                             ///< where it is built
};

struct Owner {
  std::string name;
  Span span;
  std::vector<WeightUse> weights;
  std::vector<library::Id> rules;  ///< what moves each of them: `Muon`
  bool is_unknown = false;         ///< what it owns could not be found out
  bool is_used = false;            ///< a step minimizes with it, or calls its `step`
  std::optional<Span> stepped;     ///< where a manual step does the latter
  std::optional<Span> prepared;    ///< where one clears or clips its gradients
  bool is_contested = false;       ///< another one owns some of its weights too, which is said
};

/// The objects that constructors made. A list of blocks counts as one block that stands for all.
struct Heap {
  std::vector<Object> objects;
  std::vector<Weight> weights;
  std::map<std::pair<uint32_t, std::string>, WeightId> weight_at;  ///< by root and path of its first place
  std::vector<Owner> owners = {Owner{}};
  uint32_t roots = 0;

  /// The trained weights at and below a place, as of `span`.
  std::vector<WeightUse> weights_at(const Scope& scope, Span span) const {
    std::vector<WeightUse> found;
    for (WeightId id = 0; id < weights.size(); ++id) {
      if (weights[id].is_frozen) continue;
      for (const Scope& place : weights[id].places) {
        if (!scope.holds(place)) continue;
        found.push_back({id, scope, span});
        break;
      }
    }
    return found;
  }
};

}  // namespace ltr::training_logic
