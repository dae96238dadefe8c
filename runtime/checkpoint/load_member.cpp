// Weights of a part of a model, from a file of this or another tool.

#include <ATen/ATen.h>

#include <algorithm>
#include <map>

#include "doors/weight_plan.h"
#include "ltr/load.h"
#include "runtime/checkpoint/weights_file.h"
#include "runtime/data/paths.h"
#include "runtime/tables/weight_name.h"
#include "runtime/tensor/handle.h"
#include "runtime/tensor/mode.h"
#include "runtime/train/root_state.h"

namespace ltr {

namespace {

/// A tensor at a place: its path from there on, and its entry.
struct Slot {
  doors::Wanted wanted;
  size_t entry;
};

void collect(const ScopeState& scope, const ScopeState& from, const Str& prefix, std::vector<Slot>& slots) {
  const Str base = from.path.empty() ? "" : from.path + ".";
  for (const ScopeState::Local& local : scope.locals) {
    const Str& own = scope.root->entries[local.entry].path;
    const Str name = weight_name(prefix + local.name);
    const bool is_shared = own != weight_name(base + prefix + local.name);
    slots.push_back({{name, is_shared && own.rfind(base, 0) == 0 ? own.substr(base.size()) : ""}, local.entry});
  }
  for (const ScopeState* child : scope.children) collect(*child, from, prefix + child->name + ".", slots);
}

doors::WeightsFile open(const Str& path, const Location& location) {
  const std::vector<Str> places = places_beside(path);
  const auto found = std::find_if(places.begin(), places.end(), doors::WeightsFile::exists);
  if (found == places.end()) {
    throw with_help(error_at(location, err::checkpoint_misfit, fmt::format("no file {}", path)),
                    fmt::format("looked for: {}", fmt::join(places, ", ")));
  }
  note_opened(*found);
  return open_weights(*found, path, location);
}

}  // namespace

void load_weights(const Scope& place, const Str& path, const std::vector<LoadRule>& rules, const Location& location) {
  at(location);
  RootState& root = *place.state()->root;
  std::vector<Slot> slots;
  collect(*place.state(), *place.state(), "", slots);
  doors::WeightsFile file = open(path, location);
  std::vector<doors::Wanted> wanted;
  for (const Slot& slot : slots) wanted.push_back(slot.wanted);
  std::map<Str, const doors::TensorEntry*> stored;
  std::vector<Str> names;
  for (const doors::TensorEntry& tensor : file.tensors()) {
    stored[tensor.name] = &tensor;
    names.push_back(tensor.name);
  }
  std::vector<doors::LoadRule> given;
  for (const LoadRule& rule : rules)
    given.push_back({doors::LoadRule::Kind(rule.kind), rule.pattern, rule.replacement});
  const doors::LoadPlan plan = doors::plan_load(wanted, names, given);
  const auto entry_of = [&](const Str& name) {
    return std::find_if(slots.begin(), slots.end(), [&](const Slot& slot) { return slot.wanted.name == name; })->entry;
  };

  std::vector<Str> differing, idle;
  for (const auto& [name, there] : plan.loads) {
    const Str why = misfit(*stored.at(there), In(root.entries[entry_of(name)].tensor));
    if (!why.empty()) differing.push_back(fmt::format("{} is {}", name, why));
  }
  for (const size_t rule : plan.idle_rules) idle.push_back(fmt::format("\"{}\"", rules[rule].pattern));
  if (!plan.missing.empty() || !plan.unexpected.empty() || !differing.empty() || !idle.empty()) {
    Str text = fmt::format("{} does not fit {}:", path, place.state()->path);
    if (!plan.missing.empty()) text += fmt::format(" missing {};", listed(plan.missing));
    if (!plan.unexpected.empty()) text += fmt::format(" unexpected {};", listed(plan.unexpected));
    if (!differing.empty()) text += fmt::format(" differing {};", listed(differing));
    if (!idle.empty()) text += fmt::format(" nothing matches {};", listed(idle));
    text.pop_back();
    const Str help =
        plan.rename_from.empty() ? "" : fmt::format("rename \"{}\" => \"{}\"", plan.rename_from, plan.rename_to);
    throw with_help(error_at(location, err::checkpoint_misfit, text), help);
  }

  guarded([&] {
    const NoGrad no_grad;
    std::map<size_t, Str> filled;
    std::vector<Str> converted, with_nan;
    for (const auto& [name, there] : plan.loads) {
      const size_t entry = entry_of(name);
      const at::Tensor value = borrow_tensor(file, *stored.at(there), path, location);
      const at::Tensor mine = In(root.entries[entry].tensor);
      const auto [before, is_first] = filled.emplace(entry, there);
      if (!is_first && !at::equal(value.to(mine.options()), mine)) {
        throw error_at(location, err::checkpoint_misfit,
                       fmt::format("{}: {} and {} are one weight here, but differ there", path, before->second, there));
      }
      if (value.scalar_type() != mine.scalar_type()) converted.push_back(name);
      mine.copy_(value);
      if (at::isnan(mine).any().item<bool>()) with_nan.push_back(name);
      root.loaded.insert(entry);
    }
    if (!converted.empty()) root.notes.push_back(conversion_note(path, converted));
    if (!with_nan.empty()) root.notes.push_back(nan_note(path, with_nan));
    for (const Str& name : plan.frozen) {
      Entry& entry = root.entries[entry_of(name)];
      entry.trained = false;
      at::Tensor(In(entry.tensor)).set_requires_grad(false);
    }
  });
}

}  // namespace ltr
