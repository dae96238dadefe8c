#include "runtime/train/model_root.h"

#include <map>

#include "runtime/tables/weight_name.h"
#include "runtime/tables/weight_pattern.h"
#include "runtime/tensor/handle.h"
#include "runtime/tensor/mode.h"
#include "runtime/tensor/random.h"
#include "runtime/train/root_state.h"

namespace ltr {

namespace {

/// Whether a place is a private member, or an element of a private list.
bool is_private(const ScopeState& scope) {
  return scope.name.starts_with("_") || (scope.parent != nullptr && scope.parent->name.starts_with("_"));
}

/// Visits `scope` and everything below, each tensor once, with its path from `scope` on.
template <class Visit>
void walk(const ScopeState& scope, const Str& prefix, const Visit& visit) {
  for (const ScopeState::Local& local : scope.locals) {
    visit(weight_name(prefix + local.name), scope.root->entries[local.entry]);
  }
  for (const ScopeState* child : scope.children) walk(*child, prefix + child->name + ".", visit);
}

ScopeState* place(ScopeState& parent, Str name) {
  for (ScopeState* child : parent.children) {
    if (child->name == name) return child;
  }
  ScopeState& made = parent.root->scopes.emplace_back();
  made.root = parent.root;
  made.parent = &parent;
  made.path = parent.path.empty() ? name : parent.path + "." + name;
  made.name = std::move(name);
  made.depth = parent.depth + 1;
  parent.children.push_back(&made);
  return &made;
}

Str entry_path(const ScopeState& scope, const char* name) {
  return weight_name(scope.path.empty() ? Str(name) : scope.path + "." + name);
}

Tensor register_tensor(ScopeState& scope, const char* name, const Tensor& initial, bool trained, Location location) {
  if (!initial.defined()) return {};
  RootState& root = *scope.root;
  const auto known = root.by_tensor.find(initial.impl());
  if (known != root.by_tensor.end()) {
    scope.locals.push_back({name, known->second});
    return initial;
  }
  return guarded([&] {
    const In value(initial);
    // A view or an expanded tensor would share memory with something else.
    at::Tensor leaf = value->detach();
    if (!leaf.is_contiguous() || leaf.storage().nbytes() != leaf.nbytes() || leaf.use_count() == 0) leaf = leaf.clone();
    leaf.set_requires_grad(trained && leaf.is_floating_point());
    const Tensor tensor = give(leaf);
    root.by_tensor.emplace(tensor.impl(), root.entries.size());
    scope.locals.push_back({name, root.entries.size()});
    root.entries.push_back({entry_path(scope, name), tensor, trained, location, trained});
    return tensor;
  });
}

}  // namespace

bool RootState::divides_weights() const { return division != nullptr && division->divides_weights(); }

at::Tensor RootState::own(const at::Tensor& tensor) const {
  const Division::Part* part = part_of(tensor);
  return part != nullptr ? part->values : tensor;
}

void RootState::visit_own(Archive& archive, const Str& name, const at::Tensor& weight, at::Tensor& own,
                          const at::Tensor& like) const {
  if (part_of(weight) == nullptr) return archive.tensor(name, own);
  archive.slice(name, own, division->slice_of(weight, like));
}

std::vector<WeightPlace> RootState::places_of(const Tensor& tensor) const {
  const auto found = by_tensor.find(tensor.impl());
  std::vector<WeightPlace> places;
  if (found == by_tensor.end()) return places;
  for (const ScopeState& scope : scopes) {
    for (const ScopeState::Local& local : scope.locals) {
      if (local.entry != found->second) continue;
      WeightPlace place{entry_path(scope, local.name), "", scope.kind};
      const bool is_first = place.name == entries[local.entry].path;
      places.insert(is_first ? places.begin() : places.end(), std::move(place));
    }
  }
  return places;
}

const Str* RootState::path_of(const Tensor& tensor) const {
  const auto found = by_tensor.find(tensor.impl());
  return found == by_tensor.end() ? nullptr : &entries[found->second].path;
}

namespace {

/// What `rule` gives `entry`; its errors name the weight.
void apply_init(const InitRule& rule, const Entry& entry, uint64_t seed) {
  seed_random(random_key(seed, "init", entry.path));
  at(rule.location);
  try {
    const Tensor value = rule.value(rule.self, entry.tensor.shape());
    guarded([&] { In(entry.tensor)->copy_(In(value)); });
  } catch (const Error& error) {
    throw Error(error.code, fmt::format("{}: {}", entry.path, error.message), error.location, error.help);
  }
}

}  // namespace

// Of the rules that match a weight the last one counts, and no other is asked.
void apply_inits(ScopeState& scope) {
  const ModeScope mode(false, false);
  std::map<size_t, const InitRule*> last;
  for (const InitRule& rule : scope.inits) {
    bool found = false;
    walk(scope, "", [&](const Str& path, const Entry& entry) {
      if (!entry.trained || !matches(rule.pattern, path)) return;
      found = true;
      last[size_t(&entry - scope.root->entries.data())] = &rule;
    });
    if (!found) {
      throw error_at(rule.location, err::settings_contradict,
                     fmt::format("init \"{}\" matches no weight", rule.pattern));
    }
  }
  for (const auto& [index, rule] : last) {
    if (scope.root->loaded.count(index) == 0) apply_init(*rule, scope.root->entries[index], scope.root->seed);
  }
  scope.inits.clear();
}

// ---- Scope ---------------------------------------------------------------------------------------------------

Scope Scope::child(const char* name) const { return Scope(place(*state_, name)); }

Scope Scope::element(int64_t index) const { return Scope(place(*state_, std::to_string(index))); }

void Scope::enter(const char* kind) const { state_->kind = kind; }

void Scope::own(Block* block) const {
  state_->root->blocks.emplace_back(block);
  // A model's own rules hold once all its members exist.
  apply_inits(*state_);
}

void Scope::seed(const char* name) const {
  seed_random(random_key(state_->root->seed, "init", entry_path(*state_, name)));
}

Tensor Scope::weight(const char* name, const Tensor& initial, Location location) const {
  return register_tensor(*state_, name, initial, true, location);
}

Tensor Scope::buffer(const char* name, const Tensor& initial, Location location) const {
  return register_tensor(*state_, name, initial, false, location);
}

Weights Scope::weights() const {
  Weights list;
  walk(*state_, "", [&](const Str& path, const Entry& entry) {
    if (!entry.trained) return;
    for (const Weight& known : list) {
      if (known.tensor.impl() == entry.tensor.impl()) return;
    }
    list.push_back({path, entry.tensor});
  });
  return list;
}

Optimizer* Scope::optimizer(const char* name, Value rule, const Weights& weights, std::vector<Argument> settings,
                            std::vector<Group> groups, Location location) const {
  RootState& root = *state_->root;
  root.optimizers.push_back(std::make_unique<Optimizer>(name, std::move(rule), weights, std::move(settings),
                                                        std::move(groups), location, root));
  return root.optimizers.back().get();
}

void Scope::init(const char* pattern, Tensor (*value)(const void* self, const Ints& shape), const void* self,
                 Location location) const {
  state_->inits.push_back({pattern, value, self, location});
}

// ---- ModelRoot -----------------------------------------------------------------------------------------------

ModelRoot::ModelRoot(int64_t seed, Override overrides) : state_(std::make_unique<RootState>()) {
  state_->seed = static_cast<uint64_t>(seed);
  state_->overrides = std::move(overrides);
  ScopeState& root = state_->scopes.emplace_back();
  root.root = state_.get();
}

ModelRoot::~ModelRoot() {
  // Later blocks hold pointers to earlier ones.
  while (!state_->blocks.empty()) state_->blocks.pop_back();
}

Scope ModelRoot::scope() { return Scope(&state_->scopes.front()); }

void ModelRoot::finish() {
  for (ScopeState& scope : state_->scopes) apply_inits(scope);
  for (const auto& optimizer : state_->optimizers) optimizer->prepare();
  state_->weights.clear();
  state_->buffers.clear();
  for (const Entry& entry : state_->entries) (entry.trained ? state_->weights : state_->buffers).push_back(entry);
}

const std::vector<Entry>& ModelRoot::weights() const { return state_->weights; }

const std::vector<Entry>& ModelRoot::buffers() const { return state_->buffers; }

std::vector<BlockEntry> ModelRoot::blocks() const {
  std::vector<BlockEntry> list;
  const auto visit = [&](const auto& self, const ScopeState& scope) -> int64_t {
    const size_t at = list.size();
    const bool is_block = !scope.kind.empty() && !is_private(scope);
    if (is_block) list.push_back({scope.path, scope.kind, scope.depth, 0, 0});
    int64_t own = 0;
    for (const ScopeState::Local& local : scope.locals) {
      const Entry& entry = scope.root->entries[local.entry];
      // A shared weight counts where it was made.
      if (entry.trained && entry.path == entry_path(scope, local.name)) own += In(entry.tensor)->numel();
    }
    int64_t all = 0;
    // What is private is no block of its own: its weights are its owner's.
    for (const ScopeState* child : scope.children) (is_private(*child) ? own : all) += self(self, *child);
    all += own;
    if (is_block) {
      list[at].own_weights = own;
      list[at].all_weights = all;
    }
    return all;
  };
  visit(visit, state_->scopes.front());
  return list;
}

std::vector<OptimizerEntry> ModelRoot::optimizers() const {
  std::vector<OptimizerEntry> list;
  for (const auto& optimizer : state_->optimizers) list.push_back(optimizer->describe());
  return list;
}

}  // namespace ltr
