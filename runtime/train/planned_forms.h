#pragma once

// Which forms of steps are planned.

#include <map>
#include <set>

#include "runtime/checkpoint/archive.h"
#include "runtime/plan/recording.h"

namespace ltr {

/// What was decided of each step: how often it is planned, and whether it runs op by op, since no plan could be made. Both hang on
/// what came first, so checkpoints keep them: a run that goes on computes as one that was not stopped.
class PlannedForms {
 public:
  enum class Admission : uint8_t {
    No,
    Yes,
    InPlaceOfAll,  ///< the plans that there are have run so often that new ones are made, and they go
  };
  /// Whether `form` of `step` may have a plan; it counts as planned from now on. More than a few are not worth it: what comes in
  /// ever new forms is slower to plan than to run. `held` says which weights do not train: with others it counts anew.
  Admission admit(const Str& step, const Str& held, const Str& form);
  /// How often plans of `step` ran since the first of them was made: whoever runs one adds to it. It stays where it is.
  int64_t& runs(const Str& step, const Str& held);
  /// Whether no form of batches with that `key` may have a plan any more, whatever the host says.
  bool is_closed(const Str& step, const Str& held, const Str& key) const;
  bool runs_op_by_op(const Str& step) const { return op_by_op_.contains(step); }
  void give_up(const Str& step) { op_by_op_.insert(step); }

  void visit(Archive& archive);

  static constexpr size_t kMost = 8;
  /// As often as a plan runs on an average, if it was worth making.
  static constexpr int64_t kWorthwhile = 16;

 private:
  struct Forms {
    std::set<Str> known;
    int64_t runs = 0;
  };
  std::map<Str, Forms> forms_;  ///< by step, and what it holds back
  std::set<Str> op_by_op_;
};

/// What of a batch and the host decides the graph, as a text. `guards`: what the host was asked, and said.
Str form_of(const Str& key, const std::vector<plan::Guard>& guards);

}  // namespace ltr
