#pragma once

#include <map>
#include <string_view>
#include <unordered_map>

#include "codegen/training_logic/value.h"

namespace ltr::training_logic {

struct Weight {
  std::vector<Scope> places;  ///< several where it is tied
  size_t rank = 0;
  std::vector<std::optional<int64_t>> sizes;  ///< as many; nothing for one that the constructor's arguments do not tell
  bool is_sure = true;                        ///< that it is made does not hang on what only a run knows
  OwnerId owner = 0;
  bool is_owned_whole = false;  ///< not only as one element of a list of unknown length, where it stands for all
  bool is_read = false;         ///< in a train step, where gradients could reach it
  bool is_reached = false;      ///< of those reads one with a gradient, outside of `frozen` and `no_grad`
  bool is_minimized = false;    ///< a loss reaches it
  bool is_used = false;         ///< read somewhere, in evaluation too
  bool is_read_frozen = false;  ///< in a train step, within `frozen`
  bool is_averaged = false;     ///< written by `ema_update`
  Span averaged_at;             ///< and where
  bool is_frozen = false;       ///< by the `freeze` of a `from`: no optimizer owns it
};

/// Names are those of the module.
struct Object {
  struct Member {
    Known value;
    std::optional<Span> span;  ///< where the object's own code gives it
  };

  std::string_view name;  ///< of its declaration
  bool is_library = false;
  Scope scope;
  std::map<std::string_view, Known> params;
  std::map<std::string_view, Member> members;
  Span span;  ///< where it is built

  /// A member, or a param as `$name`; null if it is not there (yet).
  const Known* find(std::string_view member) const {
    const bool is_param = member.starts_with('$');
    const auto param = is_param ? params.find(member.substr(1)) : params.end();
    const auto found = is_param ? members.end() : members.find(member);
    return param != params.end() ? &param->second : found != members.end() ? &found->second.value : nullptr;
  }
  /// Where its code gives a member; nothing of one that is made elsewhere.
  std::optional<Span> span_of(std::string_view member) const {
    const auto found = members.find(member);
    return found != members.end() ? found->second.span : std::nullopt;
  }
};

struct Owner {
  std::string name;
  Span span;
  std::vector<WeightUse> weights;
  std::vector<library::Id> rules;  ///< what moves each of them: `Muon`
  bool is_unknown = false;         ///< what it owns could not be found out
  bool is_used = false;            ///< a step minimizes with it, or calls its `step`
  std::optional<Span> stepped;     ///< where a manual step does the latter
  std::optional<Span> maximize;    ///< where it is told to make losses large
  std::optional<Span> prepared;    ///< where one clears or clips its gradients
  bool is_contested = false;       ///< another one owns some of its weights too, or of a list what stands for them
};

/// The objects that constructors made. A list of blocks counts as one block that stands for all.
struct Heap {
  /// Whether one of those that no optimizer owns is meant by `test`, which is given it as a use of its own.
  template <class Test>
  bool any_unowned(const Test& test) const {
    for (WeightId id = 0; id < weights.size(); ++id) {
      if (weights[id].owner == 0 && test(WeightUse{.weight = id, .scope = {}, .span = {}})) return true;
    }
    return false;
  }
  std::vector<Object> objects;
  std::vector<Weight> weights;
  std::unordered_map<Scope, WeightId, Scope::Hash> weight_at;  ///< by its first place
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
