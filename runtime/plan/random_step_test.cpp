// Random steps with their gradients, planned for one and for several threads, against the reference.
//
// By hand, for a long run: LTR_RANDOM_STEPS=1000-5000 runtime_tests -tc='random steps*'

#include "runtime/plan/random_ops.h"

#include <torch/csrc/autograd/autograd.h>

#include <doctest/doctest.h>

#include <cstring>
#include <set>

#include "runtime/plan/cpu/cpu_plan.h"
#include "runtime/plan/differentiate.h"
#include "runtime/plan/recompute.h"
#include "runtime/plan/reference.h"
#include "runtime/tensor/mode.h"
#include "runtime/tensor/precision.h"
#include "runtime/tensor/random.h"

namespace ltr::plan::random_step {

namespace {

/// Relative to the largest element. Where a step loses digits, as a difference of large numbers does, so many times what it loses in
/// f32, by itself and with other last bits behind each op.
constexpr double kTolerance = 1e-5, kToleranceNarrow = 2e-2, kOfRounding = 8;

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

Option<Recorded> recorded(uint64_t seed) {
  RandomStep step(seed);
  Rng& rng = step.rng;
  const ModeScope mode(rng.chance(0.9), true);
  Recorded of;
  of.key = random_key(seed, "random step", {});
  seed_random(of.key);
  for (int64_t ops = rng.from(2, 14); ops > 0; --ops) {
    const bool is_again = rng.chance(0.1);
    if (is_again) step.recorder.begin_again();
    for (int64_t together = is_again ? rng.from(1, 4) : 1; together > 0; --together) {
      at({"random.ltr", int(ops), 1});
      grow(step);
    }
    if (is_again) step.recorder.end_again();
  }
  if (step.floats.empty()) return std::nullopt;
  // A loss that many values reach, each element with a weight of its own.
  Tensor loss;
  for (int64_t parts = rng.from(1, 4); parts > 0; --parts) {
    const Tensor part = step.floats[size_t(std::max<int64_t>(int64_t(step.floats.size()) - rng.from(1, 4), 0))];
    const at::Tensor weight = at::linspace(0.5, 1.5, count_of(part)).reshape(In(part)->sizes());
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
  if (In(loss)->requires_grad()) {
    std::vector<at::Tensor> by;
    for (const Leaf& leaf : of.leaves) {
      if (!In(leaf.tensor)->requires_grad()) continue;
      of.given.push_back(leaf.id);
      by.push_back(aten(leaf.tensor));
    }
    of.wanted = torch::autograd::grad({aten(loss)}, by, {}, false, false, true);
    of.seed = of.graph.add({.kind = Value::Kind::Input, .dtype = DType::F32, .is_sized = true, .name = "seed"});
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
constexpr double kLastBit = 1.2e-7, kLastBitNarrow = 8e-3;

/// With other last bits.
at::Tensor shaken(const at::Tensor& x, double by) {
  return x * (1 + by * at::arange(x.numel(), at::kFloat).sin().reshape(x.sizes()));
}

/// What the graph gives, by the reference, in numbers of `type`.
Found referred(const Recorded& of, Graph& graph, at::ScalarType type, double shakes = 0) {
  const PolicyScope policy(type);
  const auto typed = [&](const Tensor& x) {
    if (!In(x)->is_floating_point()) return give(In(x)->clone());
    return give((shakes > 0 ? shaken(In(x), shakes) : *In(x)).to(type, false, true));
  };
  std::unordered_map<ValueId, Tensor> kept;
  for (const auto& [id, tensor] : of.kept) kept.emplace(id, typed(tensor));
  for (const Leaf& leaf : of.leaves) {
    if (leaf.restored.defined()) kept[leaf.id] = typed(give(leaf.restored));
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

/// What `plan` gives, behind each stretch.
Found planned(const Recorded& of, CpuPlan& plan) {
  Found found;
  for (const Leaf& leaf : of.leaves) {
    if (leaf.restored.defined()) aten(of.kept.at(leaf.id)).copy_(leaf.restored);
  }
  plan.begin(of.key);
  for (const Leaf& leaf : of.leaves) {
    if (!leaf.is_kept) plan.set(leaf.id, leaf.tensor);
  }
  if (of.seed != kNone) plan.set(of.seed, give(at::ones({})));
  for (size_t i = 0; i < of.stretches.size(); ++i) {
    REQUIRE(plan.run(i));
    for (const ValueId id : of.stretches[i].results) {
      const at::Tensor value = plan.view(id);
      found[id] = value.is_sparse() ? value.to_dense() : value.clone();
    }
  }
  plan.end();
  for (const Leaf& leaf : of.leaves) {
    if (leaf.restored.defined()) found[leaf.id] = aten(of.kept.at(leaf.id)).clone();
  }
  return found;
}

double apart(const at::Tensor& a, const at::Tensor& b) {
  if (!a.defined() || !b.defined()) return INFINITY;
  if (a.numel() == 0) return 0;
  const at::Tensor x = a.to(at::kDouble), y = b.to(at::kDouble);
  const at::Tensor are_same = x.eq(y).logical_or(x.isnan().logical_and(y.isnan()));
  return (x - y).abs().masked_fill(are_same, 0).nan_to_num(INFINITY).max().item<double>();
}

/// What a value is to be.
struct Wanted {
  Found single, shaken, exact;
  double tolerance = kTolerance;

  /// How far `found` is away, against what it may be: above 1 it is too far.
  double off(ValueId id, const at::Tensor& found) const {
    const at::Tensor &want = single.at(id), &better = exact.at(id);
    if (!found.defined() || found.sizes() != want.sizes()) return INFINITY;
    if (found.numel() == 0) return 0;
    const double size = better.to(at::kDouble).abs().nan_to_num(0, 0, 0).max().item<double>(),
                 lost = std::max(apart(want, better), apart(shaken.at(id), better));
    return apart(found, want) / (tolerance * std::max(0.1, size) + kOfRounding * lost);
  }
};

/// Plans for one to three threads, which give the same bits.
void compare_plans(const Recorded& of, const Wanted& wanted, bool narrows) {
  CAPTURE(narrows);
  Found of_one;
  for (const int threads : {1, 2, 3}) {
    CAPTURE(threads);
    const auto arena = std::make_shared<Arena>();
    CpuPlan plan(of.graph, of.kept, of.stretches, of.samples, threads, arena,
                 {of.of_tables.begin(), of.of_tables.end()}, narrows);
    CAPTURE(plan.text());
    for (int round = 0; round < 2; ++round) {
      // What is read before it is written is no number.
      std::memset(arena->take(plan.bytes()), 0xff, size_t(plan.bytes()));
      const auto found = planned(of, plan);
      if (of_one.empty()) of_one = found;
      for (const auto& [id, value] : found) {
        CAPTURE(id);
        CHECK(wanted.off(id, value) <= 1);
        CHECK(apart(value, of_one.at(id)) == 0);
      }
    }
  }
}

bool multiplies(Op op) {
  switch (op) {
    case Op::linear:
    case Op::matmul:
    case Op::bmm:
    case Op::attention:
    case Op::conv1d:
    case Op::conv2d:
    case Op::conv_transpose1d:
    case Op::conv_transpose2d:
    case Op::conv3d:
    case Op::conv_transpose3d:
    case Op::einsum:
    case Op::bilinear:
    case Op::lstm:
    case Op::gru:
    case Op::rnn: return true;
    default: return false;
  }
}

/// Whether what it gives jumps somewhere, so that numbers that are near give others.
bool jumps(const Graph& graph, const Node& node) {
  const auto is_float = [&](ValueId id) { return id != kNone && graph.values[id].dtype == DType::F32; };
  bool reads_float = false;
  each_read(node, [&](ValueId id) { reads_float = reads_float || is_float(id); });
  const bool gives_float = std::ranges::all_of(node.results, is_float);
  return node.op == Op::sign || node.op == Op::floor || node.op == Op::round || (reads_float && !gives_float);
}

void compare_step(uint64_t seed) {
  CAPTURE(seed);
  const PolicyScope floats(at::kFloat);
  Option<Recorded> made = recorded(seed);
  if (!made) return;
  Recorded& of = *made;
  Wanted wanted;
  wanted.single = referred(of, of.graph, at::kFloat);
  wanted.shaken = referred(of, of.graph, at::kFloat, kLastBit);
  Graph doubled = of.graph;
  for (Node& node : doubled.nodes) {
    for (Argument& argument : node.arguments) {
      if (argument == Argument(Str("f32"))) argument = Str("f64");
    }
  }
  wanted.exact = referred(of, doubled, at::kDouble);
  CAPTURE(to_text(of.graph));
  for (size_t i = 0; i < of.wanted.size(); ++i) {
    CAPTURE(of.given[i]);
    if (of.gradients[i] == kNone) {
      CHECK((!of.wanted[i].defined() || apart(of.wanted[i], at::zeros_like(of.wanted[i])) == 0));
    } else {
      CHECK(wanted.off(of.gradients[i], of.wanted[i]) <= 10);  // Autograd has formulas of its own, with their rounding.
    }
  }
  compare_plans(of, wanted, false);
  if (!std::ranges::any_of(of.graph.nodes, [](const Node& node) { return multiplies(node.op); })) return;
  wanted.tolerance = INFINITY;
  const auto jumps = [&](const Node& node) { return plan::random_step::jumps(of.graph, node); };
  if (!std::ranges::any_of(of.graph.nodes, jumps)) {
    try {
      wanted.shaken = referred(of, of.graph, at::kFloat, kLastBitNarrow);
      wanted.tolerance = kToleranceNarrow;
    } catch (const Error&) {  // some function has no answer for numbers that are so far away
    }
  }
  compare_plans(of, wanted, true);
}

}  // namespace

TEST_CASE("random steps give the reference's numbers, and the same bits for any number of threads") {
  uint64_t first = 1, last = 250;
  if (const char* range = std::getenv("LTR_RANDOM_STEPS"); range != nullptr) {
    const std::string text(range);
    first = std::stoull(text);
    last = text.find('-') == std::string::npos ? first : std::stoull(text.substr(text.find('-') + 1));
  }
  for (uint64_t seed = first; seed <= last; ++seed) {
    try {
      compare_step(seed);
    } catch (const Error& error) {
      FAIL_CHECK(fmt::format("step {}: {}", seed, error.what()));
    }
  }
}

}  // namespace ltr::plan::random_step
