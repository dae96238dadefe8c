// What steps do with gradients and weights.
#include "codegen/training_logic/trace.h"

namespace ltr::training_logic {

using ir::OpKind;
using library::Id;

std::optional<Update::Stale> Trace::stale(const Value& loss, OwnerId of) const {
  for (const auto& [path, read] : loss.paths) {
    if (of != 0 && path.to.owner != of) continue;
    for (const Snapshot& needed : {path.to, path.through}) {
      if (needed.owner != 0 && needed.version != version_of(needed.owner))
        return Update::Stale{needed.owner, read, update_spans_[version_of(needed.owner)]};
    }
  }
  return std::nullopt;
}

void Trace::update(const ir::Op& op, Frame& frame) {
  Update found;
  found.span = op.loc.span;
  found.loss_span = written_span(op, 0, frame);
  found.loss = use(op.operands[0], frame);
  found.loss.reached.for_each([&](WeightId weight) { heap_.weights[weight].is_minimized = true; });
  if (const Total& total = totals_[found.loss.total]; total.is_mean)
    findings.record_sums.insert(findings.record_sums.end(), total.sums.begin(), total.sums.end());
  if (op.kind == OpKind::Backward) {
    gradients_.cleared.clear();
    for (const auto& [path, read] : found.loss.paths) {
      gradients_.left[path.to.owner] = found.loss_span;
      reached_.insert(path.to.owner);
    }
    found.stale = stale(found.loss, 0);
    findings.updates.push_back(std::move(found));
    return;
  }
  const Value& optimizer = use(op.operands[1], frame);
  if (!optimizer.optimizer) {
    findings.has_error = true;
    return;
  }
  found.owner = *optimizer.optimizer;
  heap_.owners[found.owner].is_used = true;
  found.stale = stale(found.loss, found.owner);
  versions_[found.owner] = version_at(op, found.owner, found.span);
  findings.updates.push_back(std::move(found));
}

void Trace::trainer(const ir::Op& op, Frame& frame) {
  for (const ir::ValueId id : op.operands) {
    const Value& operand = use(id, frame);
    if (!operand.optimizer) continue;
    Owner& owner = heap_.owners[*operand.optimizer];
    const bool finds_gradients = !gradients_.cleared.contains(*operand.optimizer);
    use_gradients(op, *operand.optimizer);
    if (op.function == Id::OptimizerStep) {
      owner.is_used = true;
      owner.stepped = op.loc.span;
      // One that finds none moves nothing, and is an error of its own.
      if (finds_gradients) versions_[*operand.optimizer] = version_at(op, *operand.optimizer, op.loc.span);
    } else {
      owner.prepared = op.loc.span;
    }
  }
  for (const ir::ValueId result : op.results) frame.values[result] = varying_;
}

Trace::Gradients Trace::Gradients::join(const Gradients& left, const Gradients& right) {
  Gradients both;
  for (const auto& [owner, span] : left.cleared) {
    if (right.cleared.contains(owner)) both.cleared.emplace(owner, span);
  }
  for (const auto& [owner, span] : left.clipped) {
    if (right.clipped.contains(owner)) both.clipped.emplace(owner, span);
  }
  // What one of the ways leaves is left.
  both.left = left.left;
  both.left.insert(right.left.begin(), right.left.end());
  return both;
}

void Trace::find_none_left(const ir::Op& op, OwnerId owner, std::string_view call) {
  const auto cleared = gradients_.cleared.find(owner);
  if (cleared != gradients_.cleared.end())
    findings.idle_calls.push_back(
        {op.loc.span, cleared->second, owner, heap_.owners[owner].name + "." + std::string(call)});
}

void Trace::use_gradients(const ir::Op& op, OwnerId owner) {
  const bool is_step = op.function == Id::OptimizerStep, clears = op.function == Id::ZeroGrad;
  if (!is_step && !clears && op.function != Id::ClipNorm && op.function != Id::ClipValue) return;
  if (!clears) find_none_left(op, owner, library::info(op.function).name);
  if (!is_step && !clears) {
    gradients_.clipped[owner] = op.loc.span;
    return;
  }
  if (const auto clipped = gradients_.clipped.find(owner); clipped != gradients_.clipped.end()) {
    // In a branch another way may take them.
    if (clears && unsure_ == 0) findings.lost_clips.push_back({clipped->second, owner});
    gradients_.clipped.erase(clipped);
  }
  gradients_.cleared[owner] = op.loc.span;
  gradients_.left.erase(owner);
  if (is_step && unsure_ == 0) taken_.insert(owner);
  if (clears && unsure_ == 0 && !reached_.contains(owner)) begun_anew_.insert(owner);
}

void Trace::note_left_gradients() {
  // The next run of the step begins with throwing them away.
  for (const auto& [owner, span] : gradients_.clipped) {
    if (begun_anew_.contains(owner)) findings.lost_clips.push_back({span, owner});
  }
  for (const auto& [owner, span] : gradients_.left) {
    if (owner != 0 && taken_.contains(owner) && !begun_anew_.contains(owner))
      findings.left_gradients.push_back({span, owner});
  }
}

}  // namespace ltr::training_logic
