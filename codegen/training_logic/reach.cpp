#include <algorithm>

#include "codegen/training_logic/rules.h"

namespace ltr::training_logic {

namespace {

/// Whether code makes an update by itself, whatever what it calls does.
bool updates_itself(const ir::Region& region) {
  return std::ranges::any_of(region.ops, [](const ir::Op& op) {
    return op.kind == ir::OpKind::Minimize || op.kind == ir::OpKind::Backward ||
           (op.kind == ir::OpKind::Trainer && op.function == library::Id::OptimizerStep) ||
           std::ranges::any_of(op.regions, updates_itself);
  });
}

/// Whether something in the function stands where it may not (E0322), such as the update of a step.
bool is_refused(const ir::Function& function, const ir::Module& module, const Sink& sink) {
  return std::ranges::any_of(sink.reported(), [&](const diagnostics::Diagnostic& one) {
    if (one.code != diagnostics::Code::E0322) return false;
    const ir::Function* around = nullptr;  // The last one that begins in front of it.
    for (const ir::Function& other : module.functions) {
      const Span begin = other.loc.span;
      if (begin.source == one.span.source && begin.begin <= one.span.begin &&
          (around == nullptr || around->loc.span.begin <= begin.begin))
        around = &other;
    }
    return around == &function;
  });
}

bool updates(const ir::Region& region, const ir::Module& module, std::set<std::string>& seen, const Sink& sink) {
  if (updates_itself(region)) return true;
  for (const ir::Op& op : region.ops) {
    if ((op.kind == ir::OpKind::CallFn || op.kind == ir::OpKind::CallMethod) && seen.insert(op.name).second) {
      const ir::Function* callee = module.find(op.name);
      if (callee != nullptr &&
          ((callee->has_error && (callee->role == ir::Role::Step || is_refused(*callee, module, sink))) ||
           updates(callee->body, module, seen, sink)))
        return true;
    }
    for (const ir::Region& inner : op.regions) {
      if (updates(inner, module, seen, sink)) return true;
    }
  }
  return false;
}

/// The owners that the gradient of a loss reaches, by name.
std::vector<std::string> reached(const Value& loss, const Heap& heap) {
  std::set<OwnerId> owners;
  for (const auto& [path, span] : loss.paths) owners.insert(path.to.owner);
  owners.erase(0);
  std::vector<std::string> names;
  for (const OwnerId owner : owners) names.push_back(heap.owners[owner].name);
  return names;
}

bool reaches_owner(const Update& update) {
  return std::any_of(update.loss.paths.begin(), update.loss.paths.end(),
                     [&](const auto& one) { return one.first.to.owner == update.owner; });
}

/// Whether another update moves the weights of the owner with that name.
bool is_updated(const std::string& owner, const Findings& findings, const Heap& heap) {
  return std::ranges::any_of(findings.updates,
                             [&](const Update& one) { return one.owner != 0 && heap.owners[one.owner].name == owner; });
}

/// A weight that no optimizer owns, and where it was read, if the gradient of a loss reaches such ones alone.
std::optional<std::pair<const Weight*, Span>> reached_alone(const Value& loss, const Heap& heap) {
  std::optional<Span> read;
  for (const auto& [path, span] : loss.paths) {
    if (path.to.owner != 0) return std::nullopt;
    read = span;
  }
  const Weight* found = nullptr;
  loss.reached.for_each([&](WeightId id) { found = found == nullptr ? &heap.weights[id] : found; });
  return read && found != nullptr ? std::optional(std::pair(found, *read)) : std::nullopt;
}

void explain(diagnostics::Diagnostic& diagnostic, const Update& update, const Findings& findings, const Heap& heap) {
  const auto own = update.loss.cuts.find(update.owner);
  // What is cut beside it may well be meant, but for what is called `frozen`.
  const bool is_frozen = own != update.loss.cuts.end() && own->second.by == "`frozen`";
  if (const auto other = reached_alone(update.loss, heap); other && update.owner != 0 && !is_frozen) {
    const std::string& path = other->first->places[0].path;
    const std::string name = path.substr(0, path.find('.')), all = name == path ? name : name + ".weights";
    diagnostic.label(other->second, "it reaches `{}`, which `{}` does not own", name, heap.owners[update.owner].name)
        .help("compute it with what `{}` owns, or add `{}` to it", heap.owners[update.owner].name, all);
    return;
  }
  if (own != update.loss.cuts.end()) {
    const Cut& cut = own->second;
    const std::vector<std::string> others = reached(update.loss, heap);
    diagnostic.label(cut.span, "no gradient passes {}", cut.by);
    if (cut.by == "`stop_grad`" && !others.empty() && is_updated(others[0], findings, heap)) {
      diagnostic.help("no `stop_grad` around what `{}` trains", heap.owners[update.owner].name);
    } else if (cut.is_meant && !others.empty()) {
      diagnostic.note("it reaches those of `{}`", others[0]).help("did you mean `with {}`?", others[0]);
    } else if (cut.by == "`frozen`") {
      diagnostic.help("`{}` has nothing to train here: take `frozen` away, or the weights out of the optimizer",
                      heap.owners[update.owner].name);
    } else if (cut.is_meant) {
      diagnostic.help("compute the loss from values that are not behind {}", cut.by);
    } else {
      diagnostic.note("{} is flat almost everywhere, so it has no gradient", cut.by)
          .help("compute the loss from the values before {}", cut.by);
    }
    return;
  }
  if (heap.owners[update.owner].weights.empty()) {
    diagnostic.label(heap.owners[update.owner].span, "`{}` owns no weights", heap.owners[update.owner].name);
    return;
  }
  const std::vector<std::string> others = reached(update.loss, heap);
  if (others.empty()) {
    diagnostic.note("it is computed without them");
  } else {
    diagnostic.note("it reaches those of `{}`", others[0]).help("did you mean `with {}`?", others[0]);
  }
}

void check_one(const Update& update, const Findings& findings, const Heap& heap, Sink& sink) {
  if (update.loss.is_unknown) return;
  const bool is_backward = update.owner == 0;
  if (!is_backward && (heap.owners[update.owner].is_unknown || heap.owners[update.owner].is_contested)) return;
  const bool reaches = is_backward ? !update.loss.paths.empty() : reaches_owner(update);
  if (reaches) {
    if (const auto& lost = update.loss.lost_term) {
      const std::string from = lost->is_meant ? "outside of" : "from the values before";
      sink.report(diag::lost_term(lost->span, lost->by)
                      .label(update.loss_span, "the loss is a sum with it")
                      .help("compute it {} {}, or take it out of the loss", from, lost->by));
    }
    return;
  }
  if (!update.loss.varies && update.loss.cuts.empty()) {
    if (findings.has_error) return;  // What it would have been computed from may stand where something is wrong.
    sink.report(diag::constant_loss(update.loss_span).note("nothing that it is computed from changes"));
    return;
  }
  diagnostics::Diagnostic diagnostic = diag::loss_reaches_nothing(
      update.loss_span, is_backward ? "any optimizer" : "`" + heap.owners[update.owner].name + "`");
  explain(diagnostic, update, findings, heap);
  sink.report(std::move(diagnostic));
}

}  // namespace

void check_train_step(const ir::Module& module, const ModelTrace& model, Sink& sink) {
  for (const ir::Function* step : model.steps) {
    std::set<std::string> seen;
    if (!step->name.ends_with(".train") || step->has_error || updates(step->body, module, seen, sink)) continue;
    sink.report(diag::minimizes_nothing(step->loc.span).help("`minimize loss` makes one update"));
  }
}

bool names_wrong_optimizer(const Findings& findings, const Heap& heap) {
  return std::any_of(findings.updates.begin(), findings.updates.end(), [&](const Update& update) {
    const Owner& owner = heap.owners[update.owner];
    return update.owner != 0 && !update.loss.is_unknown && !owner.is_unknown && !owner.is_contested &&
           !reaches_owner(update) && !reached(update.loss, heap).empty();
  });
}

void check_reach(const Findings& findings, const Heap& heap, Sink& sink) {
  for (const Update& update : findings.updates) check_one(update, findings, heap, sink);
}

void check_stale_values(const Findings& findings, const Heap& heap, Sink& sink) {
  if (names_wrong_optimizer(findings, heap)) return;
  for (const Update& update : findings.updates) {
    if (!update.stale) continue;
    const std::string& owner = heap.owners[update.stale->owner].name;
    sink.report(diag::stale_value(update.loss_span, owner)
                    .label(update.stale->read, "computed here with the weights of `{}`", owner)
                    .label(update.stale->update, "which are updated here")
                    .help("compute it again after the update, or minimize the sum of both losses"));
  }
}

void check_gradients(const Findings& findings, const Heap& heap, Sink& sink) {
  std::set<Span> seen;
  // A `backward` that is wrong in itself leaves none, and is meant to.
  const auto is_unknown = [](const Update& update) { return update.loss.is_unknown; };
  if (findings.has_error || std::ranges::any_of(findings.updates, is_unknown)) return;
  // What follows on one mistake, such as the step behind a `clip_norm` of nothing, is none of its own.
  const size_t errors = sink.error_count();
  for (const IdleCall& one : findings.idle_calls) {
    // Of one that no loss reaches at all E0407 speaks.
    const bool has_loss = std::any_of(findings.updates.begin(), findings.updates.end(), [&](const Update& update) {
      return std::any_of(update.loss.paths.begin(), update.loss.paths.end(),
                         [&](const auto& path) { return path.first.to.owner == one.owner; });
    });
    if (!has_loss || !seen.insert(one.cleared).second) continue;
    sink.report(diag::no_gradients(one.span, one.call)
                    .label(one.cleared, "they are gone from here on")
                    .help("`backward` adds them up, then they are clipped, and `{}.step()` uses them up",
                          heap.owners[one.owner].name));
  }
  for (const LostClip& one : findings.lost_clips) {
    // Of an optimizer that never steps E0407 speaks.
    if (!heap.owners[one.owner].stepped || !seen.insert(one.span).second) continue;
    const std::string& owner = heap.owners[one.owner].name;
    diagnostics::Diagnostic diagnostic = diag::lost_clip(one.span, owner);
    diagnostic.note("`{}.zero_grad()` comes before its next `step`", owner)
        .help("it stands between `backward` and the `step` of the same optimizer");
    sink.report(std::move(diagnostic));
  }
  // Who clears them too late has none left over.
  if (sink.error_count() > errors) return;
  for (const LeftGradients& one : findings.left_gradients) {
    if (!seen.insert(one.span).second) continue;
    const std::string& owner = heap.owners[one.owner].name;
    sink.report(diag::left_gradients(one.span, owner)
                    .help("`{}.zero_grad()` in front of the first `backward` throws them away", owner));
  }
}

}  // namespace ltr::training_logic
