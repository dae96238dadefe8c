#include <algorithm>
#include <set>

#include "codegen/training_logic/paths.h"
#include "codegen/training_logic/rules.h"

namespace ltr::training_logic {

namespace {

/// Weights below one place of a model, as a tree of names.
struct Part {
  std::map<std::string, Part> parts;
  bool has_owned = false;
  bool has_unowned = false;
};

void add(Part& part, const std::string& path, bool is_owned) {
  (is_owned ? part.has_owned : part.has_unowned) = true;
  if (path.empty()) return;
  const size_t dot = path.find('.');
  add(part.parts[path.substr(0, dot)], dot == std::string::npos ? "" : path.substr(dot + 1), is_owned);
}

/// A weight of a model at one of its places, and whether it has an optimizer, or else what is asked of it.
struct Standing {
  const std::string& path;
  bool is_owned = false;
};

void find_unowned(const Part& part, const std::string& path, std::vector<std::string>& found) {
  if (!part.has_unowned) return;
  if (!part.has_owned && !path.empty()) {
    found.push_back(path);
    return;
  }
  for (const auto& [name, inner] : part.parts) find_unowned(inner, path.empty() ? name : path + "." + name, found);
}

/// The topmost places all of whose weights lack an optimizer.
std::vector<std::string> find_unowned(const std::vector<Standing>& weights) {
  if (std::ranges::all_of(weights, &Standing::is_owned)) return {};
  Part all;
  for (const Standing& weight : weights) add(all, weight.path, weight.is_owned);
  std::vector<std::string> found;
  find_unowned(all, "", found);
  return found;
}

/// Where an experiment builds what it gives a model, at `path`.
Span given_at(const Object& model, const std::string& path, const Heap& heap) {
  const Scope place{model.scope.root, path};
  const auto given =
      std::find_if(heap.objects.begin(), heap.objects.end(), [&](const Object& one) { return place.holds(one.scope); });
  return given == heap.objects.end() ? model.span : given->span;
}

/// Where the program builds the list, tuple or record that the part at `path` stands in, and what the code there calls that part.
std::pair<Span, std::string> built_at(const Object& model, const std::string& path, const Heap& heap) {
  std::pair<Span, std::string> found = {given_at(model, path, heap), path};
  if (const auto span = model.span_of(path.substr(0, path.find('.')))) found.first = *span;
  size_t length = 0;
  for (const Object& one : heap.objects) {
    const std::string& own = one.scope.path;
    const bool is_within = one.scope.root == model.scope.root && own.size() < path.size() && path.starts_with(own) &&
                           path[own.size()] == '.' && own.size() > length;
    if (!is_within || one.is_library) continue;
    const std::string name = path.substr(own.size() + 1);
    const auto span = one.span_of(name.substr(0, name.find('.')));
    if (!span) continue;
    found = {*span, name};
    length = own.size();
  }
  return found;
}

bool needs_none(const Weight& weight, bool train_has_error) {
  if (weight.is_averaged || weight.is_frozen) return true;
  if (!weight.is_read) return weight.is_read_frozen || train_has_error;
  return false;
}

}  // namespace

void check_second_owners(const Findings& findings, const Heap& heap, Sink& sink) {
  for (const SecondOwner& second : findings.second_owners) {
    // The narrower of the two places is the one that is said twice.
    const bool is_within = second.weight.scope.holds(second.first.scope);
    const std::string path = shown_path(is_within ? second.first.scope.path : second.weight.scope.path);
    const Owner& first = heap.owners[heap.weights[second.weight.weight].owner];
    const std::string owners =
        heap.weights[second.weight.weight].owner == second.owner ? "`" + first.name + "` twice" : "two optimizers";
    sink.report(diag::weight_with_two_optimizers(second.weight.span, path, owners)
                    .label(second.first.span, "`{}` owns `{}` here", first.name, shown_path(second.first.scope.path)));
  }
}

namespace {

/// Whether a group of the optimizer means weights that it does not find, which is said: its rule may be theirs.
bool has_lost_group(const Owner& owner, const Findings& findings, const Heap& heap) {
  return std::any_of(findings.patterns.begin(), findings.patterns.end(), [&](const Pattern& pattern) {
    return !pattern.is_init && pattern.of == owner.name &&
           std::none_of(pattern.weights.begin(), pattern.weights.end(),
                        [&](const WeightUse& use) { return takes(pattern.text, use, heap); });
  });
}

}  // namespace

void check_matrices(const ModelTrace& model, const Findings& findings, const Heap& heap, Sink& sink) {
  for (const auto& [name, member] : heap.objects[model.object].members) {
    if (!member.value->optimizer) continue;
    const Owner& owner = heap.owners[*member.value->optimizer];
    if (has_lost_group(owner, findings, heap)) continue;
    for (size_t i = 0; i < owner.weights.size(); ++i) {
      const WeightUse& use = owner.weights[i];
      const Weight& weight = heap.weights[use.weight];
      const library::Function& rule = library::info(owner.rules[i]);
      if (!rule.moves_matrices || weight.rank == 2) continue;
      sink.report(diag::wrong_argument(
                      use.span, std::string(rule.name) + " moves matrices, and `" + shown_path(weight.places[0].path) +
                                    "` has " + std::to_string(weight.rank) + (weight.rank == 1 ? " dim" : " dims"))
                      .help("give the others a rule of their own: `group \"{}\" { rule = AdamW(lr = 1e-3) }`",
                            weight.rank < 2 ? "@1d" : shown_path(weight.places[0].path)));
      break;  // One says it for all of this optimizer.
    }
  }
}

namespace {

/// What keeps the gradients of the loss in front of a `step` from the weights of the optimizer; null if nothing does. What another
/// one has taken in between was meant for that.
const Cut* cut_before(const Span& step, OwnerId owner, const Findings& findings, const Heap& heap) {
  const auto is_before = [&](const Span& span) { return span.source == step.source && span.begin < step.begin; };
  Span taken;
  for (const Owner& other : heap.owners) {
    if (other.stepped && is_before(*other.stepped)) taken = std::max(taken, *other.stepped);
  }
  const Cut* nearest = nullptr;
  for (const Update& update : findings.updates) {
    const auto cut = update.loss.cuts.find(owner);
    if (is_before(update.span) && update.span > taken && cut != update.loss.cuts.end() && cut->second.is_meant)
      nearest = &cut->second;
  }
  return nearest;
}

/// E0407: an optimizer that no step moves, or one that moves without a gradient.
void check_use(OwnerId id, const Findings& findings, const Heap& heap, Sink& sink) {
  const Owner& owner = heap.owners[id];
  if (!owner.is_used) {
    if (owner.is_contested) return;  // Its weights have another optimizer, which is said.
    diagnostics::Diagnostic diagnostic = diag::optimizer_unused(owner.span, owner.name);
    const bool is_manual = std::any_of(findings.updates.begin(), findings.updates.end(),
                                       [](const Update& update) { return update.owner == 0; });
    // One loss that names the optimizer of another one.
    const auto is_meant_for_it = [&](const Update& update) {
      return std::ranges::any_of(update.loss.paths, [&](const auto& one) { return one.first.to.owner == id; }) &&
             std::ranges::count(findings.updates, update.owner, &Update::owner) > 1;
    };
    if (owner.prepared) diagnostic.label(*owner.prepared, "its gradients are looked at here");
    if (is_manual) {
      diagnostic.help("`{}.step()` behind `backward` moves its weights", owner.name);
    } else if (const auto meant = std::ranges::find_if(findings.updates, is_meant_for_it);
               meant != findings.updates.end()) {
      diagnostic.label(meant->loss_span, "this loss reaches its weights")
          .help("did you mean `with {}` there?", owner.name);
    } else {
      diagnostic.help("`minimize LOSS with {}`, or take it away", owner.name);
    }
    sink.report(std::move(diagnostic));
    return;
  }
  // A loss that reaches nothing at all is E0403 by itself.
  const bool has_gradient = std::any_of(findings.updates.begin(), findings.updates.end(), [&](const Update& update) {
    return update.owner == id || update.loss.is_unknown || update.loss.paths.empty() ||
           std::any_of(update.loss.paths.begin(), update.loss.paths.end(),
                       [&](const auto& one) { return one.first.to.owner == id; });
  });
  if (has_gradient || owner.is_contested || owner.weights.empty()) return;
  diagnostics::Diagnostic diagnostic = diag::optimizer_unused(owner.span, owner.name);
  diagnostic.label(*owner.stepped, "it moves here, without a gradient");
  if (const Cut* cut = cut_before(*owner.stepped, id, findings, heap)) {
    diagnostic.label(cut->span, "no gradient passes {}", cut->by)
        .help("no {} around what `{}` trains", cut->by, owner.name);
  } else {
    diagnostic.help("`backward LOSS` in front of it, of a loss that reaches its weights");
  }
  sink.report(std::move(diagnostic));
}

}  // namespace

namespace {

/// W0408: the topmost places of the model that an optimizer owns and that its steps use without a gradient alone, where other
/// weights are reached. Of weights that nothing uses W0407 speaks, of an optimizer without any E0403 and E0407.
void check_reached_weights(const Object& object, const Findings& findings, const Heap& heap, Sink& sink) {
  const bool is_known = findings.cut.empty() && std::none_of(findings.updates.begin(), findings.updates.end(),
                                                             [](const Update& one) { return one.loss.is_unknown; });
  // What is wrong elsewhere may be why a loss reaches less than is meant.
  const bool is_broken = sink.error_count() > 0;
  const auto is_trained = [&](const Weight& weight) {
    return weight.is_minimized || (is_broken && weight.is_reached) || weight.is_frozen || !weight.is_sure;
  };
  // Of an optimizer none of whose weights a loss reaches, E0403 and E0407 speak.
  std::set<OwnerId> minimized;
  for (const Weight& weight : heap.weights) {
    if (weight.is_minimized) minimized.insert(weight.owner);
  }
  const auto is_told = [&](const Weight& weight) {
    return !is_trained(weight) && weight.owner != 0 && weight.is_used && heap.owners[weight.owner].is_used &&
           minimized.contains(weight.owner) && !heap.owners[weight.owner].is_contested;
  };
  if (!is_known || std::none_of(heap.weights.begin(), heap.weights.end(), is_told)) return;
  std::vector<Standing> weights;
  for (const Weight& weight : heap.weights) {
    if (weight.owner == 0 || (!is_trained(weight) && !is_told(weight))) continue;
    for (const Scope& place : weight.places) {
      if (place.root == object.scope.root) weights.push_back({place.path, is_trained(weight)});
    }
  }
  if (std::ranges::none_of(weights, &Standing::is_owned)) return;
  const std::vector<std::string> found = joined_elements(find_unowned(weights));
  std::map<std::string, diagnostics::Diagnostic> told;  // by optimizer: one cut may be why of all
  for (const std::string& path : found) {
    // Of the elements of a list a part of each, or all.
    const std::string named = path.find(".*.") != std::string::npos ? code_of(path) : shown_path(path);
    const auto weight = std::find_if(heap.weights.begin(), heap.weights.end(), [&](const Weight& one) {
      return one.owner != 0 && std::any_of(one.places.begin(), one.places.end(), [&](const Scope& place) {
               return place.root == object.scope.root &&
                      Scope{place.root, path}.holds({place.root, as_of_any(place.path, path)});
             });
    });
    const Owner& owner = heap.owners[weight->owner];
    const std::optional<Span> span = object.span_of(path.substr(0, path.find('.')));
    const std::string code = code_of(named);
    const Span place = span ? *span : given_at(object, named, heap);
    if (const auto first = told.find(owner.name); first != told.end()) {
      first->second.label(place, "nor `{}`", named);
      continue;
    }
    diagnostics::Diagnostic diagnostic = diag::never_trained(place, named, owner.name);
    const auto use = std::find_if(owner.weights.begin(), owner.weights.end(), [&](const WeightUse& one) {
      return one.weight == WeightId(weight - heap.weights.begin());
    });
    if (use != owner.weights.end()) diagnostic.label(use->span, "`{}` owns it here", owner.name);
    diagnostic.help(
        "compute the loss with it, or take it out of the optimizer: what only serves others is used as `frozen({})(x)`",
        code);
    told.emplace(owner.name, std::move(diagnostic));
  }
  for (auto& [name, diagnostic] : told) sink.report(std::move(diagnostic));
}

/// W0408: what an optimizer is given beside others, and `freeze` keeps as it is. Of one that is given nothing else E0403 speaks.
void check_frozen_parts(const Object& object, const Findings& findings, const Heap& heap, Sink& sink) {
  std::set<Span> seen;
  for (const FrozenPart& one : findings.frozen_parts) {
    const Owner& owner = heap.owners[one.owner];
    const Scope& place = one.weight.scope;
    if (owner.weights.empty() || place.root != object.scope.root || !seen.insert(one.weight.span).second) continue;
    sink.report(diag::never_trained(one.weight.span, shown_path(place.path), owner.name)
                    .note("its `freeze` keeps all of it as it was loaded")
                    .help("take it out of the optimizer, or the `freeze` away"));
  }
}

/// W0407: of a list, tuple or record of layers one that no step reads, where others are. Of whole members names tell.
void check_unread_weights(const ModelTrace& model, const Findings& findings, const Heap& heap, Sink& sink) {
  const bool is_known =
      findings.cut.empty() && sink.error_count() == 0 &&
      std::none_of(model.steps.begin(), model.steps.end(), [](const ir::Function* step) { return step->has_error; }) &&
      std::none_of(findings.updates.begin(), findings.updates.end(),
                   [](const Update& one) { return one.loss.is_unknown; });
  if (!is_known) return;
  const Object& object = heap.objects[model.object];
  std::vector<Standing> weights;
  for (const Weight& weight : heap.weights) {
    const bool is_needed = weight.is_used || weight.is_averaged || weight.is_frozen || !weight.is_sure;
    if (weight.owner == 0 && !is_needed) continue;
    for (const Scope& place : weight.places) {
      if (place.root == object.scope.root) weights.push_back({place.path, is_needed});
    }
  }
  if (std::ranges::none_of(weights, &Standing::is_owned)) return;
  std::map<Span, std::vector<std::string>> unread;  // what is built at one place is one mistake
  for (const std::string& path : find_unowned(weights)) {
    const size_t dot = path.rfind('.');
    if (dot == std::string::npos) continue;
    const Scope holder{object.scope.root, path.substr(0, dot)};
    const bool is_member = std::ranges::any_of(heap.objects, [&](const Object& one) {
      return one.scope.root == holder.root && one.scope.path == holder.path;
    });
    if (is_member) continue;
    const auto [place, name] = built_at(object, path, heap);
    std::vector<std::string>& names = unread[place];
    if (std::ranges::find(names, name) == names.end()) names.push_back(name);
  }
  for (const auto& [place, names] : unread) {
    diagnostics::Diagnostic diagnostic = diag::dead_weights(place, code_of(names[0]));
    std::string others;
    for (size_t i = 1; i < names.size(); ++i) others += (i > 1 ? ", `" : "`") + code_of(names[i]) + "`";
    if (!others.empty()) diagnostic.note("nor {}", others);
    sink.report(std::move(
        diagnostic.help("apply {}, or take {} away", others.empty() ? "it" : "them", others.empty() ? "it" : "them")));
  }
}

/// The one optimizer none of whose weights a gradient reaches, where those of the member at `path` are reached and have none:
/// it names the wrong member. Nothing if that is not so.
const Owner* misplaced_owner(const std::string& path, const Object& object, const std::vector<OwnerId>& owners,
                             const Heap& heap) {
  const Scope place{object.scope.root, path};
  const bool is_reached = std::ranges::any_of(heap.weights, [&](const Weight& weight) {
    return weight.is_reached && std::ranges::any_of(weight.places, [&](const Scope& one) { return place.holds(one); });
  });
  if (!is_reached) return nullptr;
  const Owner* found = nullptr;
  for (const OwnerId id : owners) {
    const Owner& owner = heap.owners[id];
    const bool is_idle = std::ranges::none_of(owner.weights, [&](const WeightUse& use) {
      const Weight& weight = heap.weights[use.weight];
      return weight.is_minimized || weight.is_reached;
    });
    if (!is_idle || owner.is_contested) continue;
    if (found != nullptr) return nullptr;
    found = &owner;
  }
  return found;
}

/// The weights of the model below `path`.
std::vector<const Weight*> weights_below(const std::string& path, const Object& object, const Heap& heap) {
  const Scope place{object.scope.root, path};
  std::vector<const Weight*> found;
  for (const Weight& weight : heap.weights) {
    if (std::ranges::any_of(weight.places, [&](const Scope& one) { return place.holds(one); }))
      found.push_back(&weight);
  }
  return found;
}

/// Of a member that no train step reads, beside one of the same block that is trained: it is meant to follow that one. False if
/// there is none, or several.
bool help_of_average(diagnostics::Diagnostic& diagnostic, const std::string& member, const Object& object,
                     const Heap& heap) {
  const auto block_of = [&](const std::string& path) {
    const auto found = std::ranges::find_if(
        heap.objects, [&](const Object& one) { return one.scope.root == object.scope.root && one.scope.path == path; });
    return found == heap.objects.end() ? std::string_view() : found->name;
  };
  const std::vector<const Weight*> own = weights_below(member, object, heap);
  const std::string_view block = block_of(member);
  const bool is_idle = std::ranges::none_of(own, [](const Weight* one) { return one->is_read || one->is_read_frozen; });
  if (!is_idle || block.empty()) return false;
  std::string source;
  std::optional<Span> swapped;
  for (const auto& [other, made] : object.members) {
    const std::string name(other);
    if (!made.span || name == member || block_of(name) != block) continue;
    const std::vector<const Weight*> weights = weights_below(name, object, heap);
    if (std::ranges::none_of(weights, [](const Weight* one) { return one->owner != 0; })) continue;
    if (!source.empty()) return false;
    source = name;
    const auto moved = std::ranges::find_if(weights, &Weight::is_averaged);
    if (moved != weights.end()) swapped = (*moved)->averaged_at;
  }
  if (source.empty()) return false;
  if (swapped)
    diagnostic.label(*swapped, "moves `{}`, its first", source)
        .help("did you mean `ema_update({}, {}, …)`?", member, source);
  else
    diagnostic.help("add `{}.weights` to an optimizer; the average of `{}` is moved by `ema_update({}, {}, …)`", member,
                    source, member, source);
  return true;
}

/// E0404 of an optimizer that names the wrong member: that nothing is minimized with it follows.
void report_misplaced(diagnostics::Diagnostic diagnostic, const Owner& owner, const std::string& code, const Heap& heap,
                      Sink& sink) {
  sink.withdraw([&](const diagnostics::Diagnostic& one) {
    return (one.code == diagnostics::Code::E0407 && one.span == owner.span) ||
           (one.code == diagnostics::Code::E0403 && one.message.ends_with(" `" + owner.name + "`"));
  });
  if (owner.weights.empty()) {
    const bool is_frozen = std::ranges::any_of(heap.weights, &Weight::is_frozen);
    diagnostic.label(owner.span, "`{}` owns no weights{}", owner.name, is_frozen ? ": what it names is frozen" : "");
  } else {
    const WeightUse& first = owner.weights.front();
    diagnostic.label(first.span, "`{}` has the weights of `{}`, which no gradient reaches", owner.name,
                     shown_path(first.scope.path));
  }
  sink.report(std::move(diagnostic.help("did you mean `{}.weights`?", code)));
}

}  // namespace

void check_ownership(const ModelTrace& model, const Findings& findings, const Heap& heap, Sink& sink) {
  const Object& object = heap.objects[model.object];
  const bool trains = std::any_of(model.steps.begin(), model.steps.end(),
                                  [](const ir::Function* step) { return step->name.ends_with(".train"); });
  if (!trains || model.has_error) return;
  bool any_update = !findings.updates.empty();
  std::vector<OwnerId> owners;
  for (const auto& [name, member] : object.members) {
    const std::optional<OwnerId>& owner = member.value->optimizer;
    if (!owner) continue;
    if (heap.owners[*owner].is_unknown) return;
    owners.push_back(*owner);
    any_update = any_update || heap.owners[*owner].is_used;
  }
  if (owners.empty() && model.train_has_error) return;  // E0409 asks for one
  // Where no update is found at all, that is the mistake; and so is an update that names another's optimizer.
  const bool is_misnamed = names_wrong_optimizer(findings, heap);
  for (const OwnerId owner : owners) {
    if (!any_update || model.train_has_error || is_misnamed) continue;
    const size_t errors = sink.error_count();
    check_use(owner, findings, heap, sink);
    // A step without any `backward` is one mistake.
    if (findings.updates.empty() && sink.error_count() > errors) break;
  }
  // Who names weights of another optimizer may well mean these, and of two of one name the second is not read.
  const auto is_second = [](const diagnostics::Diagnostic& one) { return one.code == diagnostics::Code::E0310; };
  if (!findings.second_owners.empty() || std::ranges::any_of(sink.reported(), is_second)) return;
  if (!model.train_has_error && !is_misnamed) check_reached_weights(object, findings, heap, sink);
  check_frozen_parts(object, findings, heap, sink);
  check_elements(object, heap, sink);
  check_unread_weights(model, findings, heap, sink);
  std::vector<Standing> weights;
  for (const Weight& weight : heap.weights) {
    for (const Scope& place : weight.places) {
      if (place.root != object.scope.root || (weight.owner == 0 && needs_none(weight, model.train_has_error))) continue;
      weights.push_back({place.path, weight.owner != 0});
    }
  }
  std::map<std::string, std::vector<std::string>> of_members;
  for (const std::string& path : find_unowned(weights)) of_members[path.substr(0, path.find('.'))].push_back(path);
  for (const auto& [member, paths] : of_members) {
    const std::string& path = paths.front();
    const std::optional<Span> span = object.span_of(member);
    // Whoever applies it will see that it needs an optimizer, and what a step assigns is meant for a buffer.
    const bool is_told = std::ranges::any_of(sink.reported(), [&](const diagnostics::Diagnostic& one) {
      return (one.code == diagnostics::Code::W0407 && span && one.span == *span) ||
             (one.code == diagnostics::Code::E0324 && one.words[0] == member);
    });
    if (is_told) continue;
    const bool is_weight = std::ranges::any_of(weights, [&](const Standing& one) { return one.path == path; });
    const std::string named = shown_path(path);
    diagnostics::Diagnostic diagnostic =
        diag::weight_without_optimizer(span ? *span : given_at(object, named, heap), named);
    for (const OwnerId owner : owners) {
      const std::vector<WeightUse>& uses = heap.owners[owner].weights;
      const auto near = std::find_if(uses.begin(), uses.end(),
                                     [&](const WeightUse& use) { return use.scope.path.starts_with(member + "."); });
      if (near != uses.end())
        diagnostic.label(near->span, "`{}` owns `{}` alone", heap.owners[owner].name, shown_path(near->scope.path));
    }
    const std::string code = code_of(named);
    const bool is_whole = of_members.size() == 1 && path == member && !is_weight;
    if (const Owner* owner = is_whole ? misplaced_owner(path, object, owners, heap) : nullptr) {
      report_misplaced(std::move(diagnostic), *owner, code, heap, sink);
      continue;
    }
    if (paths.size() > 1) {
      for (size_t i = 1; i < paths.size(); ++i) diagnostic.note("nor those of `{}`", shown_path(paths[i]));
      diagnostic.help("`{}.weights` are all of them", member);
    } else if (is_weight && path == member) {
      diagnostic.help("add `{}` to an optimizer; what is not trained is a `buffer`", code);
    } else if (path != member || !help_of_average(diagnostic, member, object, heap)) {
      diagnostic.help("add `{}` to an optimizer; what only serves others is used as `frozen({})(x)`",
                      is_weight ? code : code + ".weights", code);
    }
    sink.report(std::move(diagnostic));
  }
}

}  // namespace ltr::training_logic
