#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "runtime/checkpoint/weights_file.h"
#include "runtime/optim/optimizer.h"
#include "runtime/tensor/handle.h"
#include "runtime/train/root_state.h"

// What an optimizer keeps of its weights, in checkpoints.

namespace ltr {

namespace {

/// A gradient that no update has taken yet.
constexpr const char* kWaiting = "grad";

}  // namespace

Error Optimizer::misfit(const Str& what) const {
  return with_help(error_at(location_, err::checkpoint_misfit, fmt::format("the optimizer {} {}", name_, what)),
                   "resume with the optimizer that the run had, or begin a run with its weights alone: "
                   "fit --weights CHECKPOINT");
}

Str Optimizer::rules_text() const {
  Str text = rule_.text;
  for (const GroupState& group : groups_) {
    if (group.has_own_rule) text += fmt::format(", {} for \"{}\"", group.rule_text, group.pattern);
  }
  return text;
}

void Optimizer::check_fits(Archive& archive) {
  prepare();
  Str rules;
  archive.value("rule", rules);
  if (rules != rules_text()) throw misfit(fmt::format("is {} in the checkpoint and {} here", rules, rules_text()));
  for (const GroupState& group : groups_) {
    for (const Str& path : group.paths) {
      const Str prefix = state_prefix(path);
      if (!archive.has_tensor(prefix + "step")) continue;
      for (const char* name : group.rule->state_names()) {
        if (archive.has_tensor(prefix + name)) continue;
        throw misfit(fmt::format(
            "keeps {} of {} here, which it did not in the checkpoint: its arguments or groups changed", name, path));
      }
    }
  }
}

bool Optimizer::keeps(const Str& path, const Str& state) const {
  for (const GroupState& group : groups_) {
    if (std::ranges::find(group.paths, path) == group.paths.end()) continue;
    const std::vector<const char*> names = group.rule->kept_names();
    return state == "step" || state == kWaiting || std::ranges::find(names, state) != names.end();
  }
  return false;
}

Str Optimizer::without_place(const Archive& archive) const {
  std::map<Str, std::vector<Str>> states;  // by path
  const Str prefix = fmt::format("opt.{}.", name_);
  for (const Str& name : archive.tensor_names()) {
    if (!name.starts_with(prefix)) continue;
    const size_t dot = name.rfind('.');
    const Str path = name.substr(prefix.size(), dot - prefix.size()), state = name.substr(dot + 1);
    if (!keeps(path, state)) states[path].push_back(state);
  }
  std::map<Str, std::vector<Str>> paths;  // by states
  for (const auto& [path, list] : states) paths[fmt::format("{}", fmt::join(list, ", "))].push_back(path);
  Str text;
  for (const auto& [list, of] : paths) text += fmt::format("{}{} of {}", text.empty() ? "" : "; ", list, listed(of));
  return text;
}

void Optimizer::visit(Archive& archive, bool keeps_gradients) {
  if (archive.is_reading()) check_fits(archive);
  prepare();
  Str rules = rules_text();
  archive.value("rule", rules);
  double rate = fixed_rate_.value_or(NAN);
  archive.value("rate", rate);
  if (archive.is_reading() && !std::isnan(rate)) fixed_rate_ = rate;
  for (size_t k = 0; k < groups_.size(); k++) {
    GroupState& group = groups_[k];
    if (group.weights.empty()) continue;
    if (group.steps.empty() && archive.is_reading()) make_state(group);
    visit_momentum(archive, group, fmt::format("momentum.{}", k));
    for (size_t i = 0; keeps_gradients && i < group.weights.size(); i++) visit_gradient(archive, group, i);
    group.update.divided.clear();
    if (group.steps.empty()) continue;
    for (size_t i = 0; i < group.weights.size(); i++) visit_states(archive, group, i);
    std::vector<Str> prefixes;
    for (const Str& path : group.paths) prefixes.push_back(state_prefix(path));
    group.rule->visit(archive, prefixes, group.weights);
  }
  if (!archive.is_reading()) return;
  if (const Str dropped = without_place(archive); !dropped.empty()) {
    archive.note(fmt::format(
        "the optimizer {} has no place any more for {}; what the checkpoint has of that is dropped", name_, dropped));
  }
}

void Optimizer::visit_momentum(Archive& archive, GroupState& group, const Str& name) {
  if (archive.is_reading() ? !archive.has(name) : !group.moved_momentum) return;
  double moved = group.moved_momentum.value_or(0);
  archive.value(name, moved);
  group.moved_momentum = moved;
  if (double* momentum = group.rule->momentum(); momentum != nullptr) *momentum = moved;
}

// Of a step by hand, which adds up gradients over several steps.
void Optimizer::visit_gradient(Archive& archive, GroupState& group, size_t i) {
  const Str name = state_prefix(group.paths[i]) + kWaiting;
  at::Tensor& gradient = group.weights[i].mutable_grad();
  at::Tensor kept;
  if (archive.is_reading()) {
    gradient = at::Tensor();
    if (!archive.has_tensor(name)) return;
    archive.tensor(name, kept);
    gradient = kept.to(group.weights[i].options());
  } else if (gradient.defined()) {
    kept = gradient.is_sparse() ? gradient.to_dense() : gradient;
    archive.tensor(name, kept);
  }
}

void Optimizer::visit_states(Archive& archive, GroupState& group, size_t i) {
  const Str prefix = state_prefix(group.paths[i]);
  if (archive.is_reading()) group.has_moved[i] = archive.has_tensor(prefix + "step");
  if (!group.has_moved[i]) return;
  const std::vector<const char*> names = group.rule->state_names();
  for (size_t k = 0; k < names.size(); k++) {
    const at::Tensor& weight = group.weights[i];
    const at::Tensor whole =
        group.rule->initial_state(names[k], at::empty_like(weight, weight.options().device(at::kMeta)));
    root_.visit_own(archive, prefix + names[k], weight, group.state[k][i], whole);
  }
  archive.tensor(prefix + "step", group.steps[i]);
}

}  // namespace ltr
