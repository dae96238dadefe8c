#pragma once

// Random steps with their gradients, as graphs, and what the reference says of them.

#include "runtime/plan/random_ops.h"

#include <c10/util/FunctionRef.h>
#include <torch/csrc/autograd/autograd.h>

#include <doctest/doctest.h>

#include <set>

#include "runtime/plan/cpu/cpu_plan.h"
#include "runtime/plan/differentiate.h"
#include "runtime/plan/recompute.h"
#include "runtime/plan/reference.h"
#include "runtime/tensor/mode.h"
#include "runtime/tensor/precision.h"
#include "runtime/tensor/random.h"

namespace ltr::plan::random_step {

/// A step with its gradients, and what it reads.
struct Recorded {
  Graph graph;
  std::vector<Leaf> leaves;
  std::unordered_map<ValueId, Tensor> kept;
  ValueId loss = kNone, seed = kNone;
  std::vector<ValueId> given, gradients, of_tables;
  std::vector<at::Tensor> wanted;  ///< what autograd says of the gradients
  std::vector<Stretch> stretches;
  int64_t samples = 1;
  uint64_t key = 0;
};

/// The step of `seed`, as it `grows`, in the float type that is policy. Nothing if it computes no floats.
inline Option<Recorded> recorded(RandomStep& step, uint64_t seed, c10::function_ref<void()> grows) {
  Rng& rng = step.rng;
  const ModeScope mode(rng.chance(0.9), true);
  const at::ScalarType type = aten(DType::Float);
  Recorded of;
  of.key = random_key(seed, "random step", {});
  seed_random(of.key);
  grows();
  if (step.floats.empty()) return std::nullopt;
  // A loss that many values reach, each element with a weight of its own.
  Tensor loss;
  for (int64_t parts = rng.from(1, 4); parts > 0; --parts) {
    const Tensor part = step.floats[size_t(std::max<int64_t>(int64_t(step.floats.size()) - rng.from(1, 4), 0))];
    const at::Tensor weight = at::linspace(0.5, 1.5, count_of(part), type).reshape(In(part)->sizes());
    const Tensor one = sum(mul(part, give(weight)), {}, false);
    loss = loss.defined() ? add(loss, one) : one;
  }
  of.loss = step.recorder.id_of(loss);
  std::set<ValueId> outputs{of.loss};
  for (int64_t more = rng.from(0, 3); more > 0; --more) outputs.insert(step.recorder.id_of(rng.one_of(step.floats)));
  const Recording recording = step.recorder.take();
  of.graph = recording.graph;
  of.kept = recording.kept;
  of.leaves = step.leaves;
  const size_t end = of.graph.nodes.size();
  of.samples = rng.chance(0.8) ? step.batch : rng.from(1, 4);
  // Cut somewhere, as by what a step does beside computing: what is read behind is a result of the last.
  const auto cut = size_t(rng.from(0, int64_t(end)));
  of.stretches = {{0, cut, {}}, {cut, end, {outputs.begin(), outputs.end()}}};
  std::vector<at::Tensor> by;
  for (const Leaf& leaf : of.leaves) {
    if (!In(leaf.tensor)->requires_grad()) continue;
    of.given.push_back(leaf.id);
    by.push_back(aten(leaf.tensor));
  }
  if (In(loss)->requires_grad() && !by.empty()) {
    of.wanted = torch::autograd::grad({aten(loss)}, by, {}, false, false, true);
    of.seed = of.graph.add({.kind = Value::Kind::Input, .dtype = dtype_of(type), .is_sized = true, .name = "seed"});
    const Differentiated found = differentiate(of.graph, end, of.loss, of.seed, of.given);
    if (found.refusal) FAIL(found.refusal->first);
    of.gradients = found.gradients;
    compute_again(of.graph, end, end, {});
    std::set<ValueId> results(of.gradients.begin(), of.gradients.end());
    results.erase(kNone);
    of.stretches.push_back({end, of.graph.nodes.size(), {results.begin(), results.end()}});
    for (const ValueId id : results) {
      if (rng.chance(0.5)) of.of_tables.push_back(id);
    }
  }
  for (Leaf& leaf : of.leaves) leaf.tensor = give(aten(leaf.tensor).detach());
  for (auto& [id, tensor] : of.kept) tensor = give(aten(tensor).detach());
  return of;
}

using Found = std::unordered_map<ValueId, at::Tensor>;

/// How far a last bit of f32 and of bf16 moves a number.
inline constexpr double kLastBit = 1.2e-7, kLastBitNarrow = 8e-3;

/// With other last bits.
inline at::Tensor shaken(const at::Tensor& x, double by) {
  return x * (1 + by * at::arange(x.numel(), at::kFloat).sin().reshape(x.sizes()));
}

/// What the graph gives, by the reference, in numbers of `type`.
inline Found referred(const Recorded& of, Graph& graph, at::ScalarType type, double shakes = 0) {
  const PolicyScope policy(type);
  const auto typed = [&](const Tensor& x) {
    if (!In(x)->is_floating_point() || (In(x)->scalar_type() == type && shakes == 0)) return x;  // as it lies
    return give((shakes > 0 ? shaken(In(x), shakes) : *In(x)).to(type, false, true));
  };
  std::unordered_map<ValueId, Tensor> kept;
  for (const auto& [id, tensor] : of.kept) kept.emplace(id, typed(tensor));
  for (const Leaf& leaf : of.leaves) {
    if (leaf.restored.defined()) kept[leaf.id] = typed(give(leaf.restored.clone()));
  }
  Reference reference(graph, kept);
  if (type == at::kFloat) reference.note_sizes(&graph);
  for (const Leaf& leaf : of.leaves) {
    if (!leaf.is_kept) reference.set(leaf.id, typed(leaf.tensor));
  }
  if (of.seed != kNone) reference.set(of.seed, give(at::ones({}, type)));
  seed_random(of.key);
  for (size_t at = 0; at < graph.nodes.size(); ++at) {
    reference.run(at, at + 1);
    if (shakes == 0) continue;
    for (const ValueId id : graph.nodes[at].results) {
      if (id == kNone || !reference.value(id).defined() || !In(reference.value(id))->is_floating_point()) continue;
      reference.set(id, give(shaken(In(reference.value(id)), shakes)));
    }
  }
  Found found;
  for (const Stretch& stretch : of.stretches) {
    for (const ValueId id : stretch.results) found[id] = aten(reference.value(id));
  }
  for (const Leaf& leaf : of.leaves) {
    if (leaf.restored.defined()) found[leaf.id] = aten(kept.at(leaf.id));
  }
  return found;
}

/// A function by itself, of what is given or of a view of it.
inline void grow_one(RandomStep& step, Maker maker) {
  at({"random.ltr", 1, 1});
  if (step.rng.chance(0.7)) make_view(step);
  const auto before = std::ptrdiff_t(step.floats.size());
  maker(step);
  for (const Tensor& condition : Tensors(step.conditions)) step.keep(to(condition, DType::Float));
  // What it gave is what the loss hangs on.
  if (std::ptrdiff_t(step.floats.size()) > before) step.floats.erase(step.floats.begin(), step.floats.begin() + before);
}

/// Cases of each op.
using Counts = std::array<int, kOps>;

/// Adds the nodes in front of `end` that lead to one of `values`; `of_gradients`: through what has a gradient.
inline void count_ops(Counts& counts, const Graph& graph, size_t end, const std::vector<ValueId>& values,
                      bool of_gradients) {
  std::vector<bool> leads(graph.values.size());
  const auto lead = [&](ValueId id) { leads[id] = !of_gradients || graph.values[id].needs_grad; };
  for (const ValueId id : values) lead(id);
  for (size_t at = end; at-- > 0;) {
    const Node& node = graph.nodes[at];
    if (std::ranges::none_of(node.results, [&](ValueId id) { return id != kNone && leads[id]; })) continue;
    ++counts[size_t(node.op)];
    each_read(node, lead);
  }
}

/// The seeds from `first` to `last`, or those that `variable` of the environment says, if one is named.
inline void each_seed(uint64_t first, uint64_t last, const char* variable, c10::function_ref<void(uint64_t)> compare) {
  if (const char* range = variable != nullptr ? std::getenv(variable) : nullptr; range != nullptr) {
    const std::string text(range);
    first = std::stoull(text);
    last = text.find('-') == std::string::npos ? first : std::stoull(text.substr(text.find('-') + 1));
  }
  for (uint64_t seed = first; seed <= last; ++seed) {
    try {
      compare(seed);
    } catch (const Error& error) {
      FAIL_CHECK(fmt::format("step {}: {}", seed, error.what()));
    }
  }
}

}  // namespace ltr::plan::random_step
