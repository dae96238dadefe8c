#include "codegen/lower/shared.h"

#include <set>

namespace ltr::lower {

using ir::OpKind;

namespace {

/// Walks a step in order of the program. `minimize` stands in no function that a step calls, so its own body is enough.
class UpdateWalk {
 public:
  UpdateWalk(const ir::Function& function, ir::StepInfo& step) : function_(function), step_(step) {}

  void run() {
    step_.updates_always = !function_.is_manual;
    walk(function_.body, true);
  }

 private:
  /// `is_always`: every run of the step that gets to the region runs it once.
  void walk(const ir::Region& region, bool is_always) {
    for (const ir::Op& op : region.ops) {
      if (op.kind == OpKind::Member) members_.insert(op.results[0]);
      if (op.kind == OpKind::Minimize) minimize(op, is_always);
      if (op.kind == OpKind::Return) may_have_left_ = true;
      const bool runs_once = is_always && (op.kind == OpKind::NoGrad || op.kind == OpKind::FrozenRegion);
      for (const ir::Region& inner : op.regions) walk(inner, runs_once);
    }
  }

  void minimize(const ir::Op& op, bool is_always) {
    if (!is_always || may_have_left_ || !members_.contains(op.operands[1])) step_.updates_always = false;
  }

  const ir::Function& function_;
  ir::StepInfo& step_;
  std::set<ir::ValueId> members_;  ///< optimizers, by their names; others are chosen at run time
  bool may_have_left_ = false;
};

}  // namespace

void note_updates(const ir::Function& body, ir::StepInfo& step) { UpdateWalk(body, step).run(); }

}  // namespace ltr::lower
