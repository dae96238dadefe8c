// Random steps with their gradients, planned for one and for several threads, against the reference.
//
// By hand, for a long run: LTR_RANDOM_STEPS=1000-5000 runtime_tests -tc='random steps*'; LTR_RANDOM_ROUNDS is of functions by
// themselves.

#include "runtime/plan/random_recording.h"

#include <doctest/doctest.h>

#include <cstdlib>
#include <cstring>
#include <ranges>
#include <set>
#include <sstream>

#include "runtime/plan/cpu/cpu_plan.h"
#include "runtime/plan/cpu/without_kernel.h"
#include "runtime/plan/simplify.h"
#include "runtime/tensor/precision.h"

namespace ltr::plan::random_step {

namespace {

/// Relative to the largest element. Where a step loses digits, as a difference of large numbers does, so many times what it loses in
/// f32, by itself and with other last bits behind each op.
constexpr double kTolerance = 1e-5, kToleranceNarrow = 2e-2, kOfRounding = 8;
/// Of a function by itself in bf16: relative to the largest element of a value or gradient, and what last bits of bf16 move. Attention goes
/// through two products, and the power that soft-max takes of the first.
constexpr double kToleranceOfOne = 1e-2, kToleranceOfAttention = 2e-2;
/// Functions by themselves: each of `kMakers` makes so many, at most and at least.
constexpr uint64_t kMostRounds = 300, kRounds = 40;

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
  double tolerance = kTolerance, of_rounding = kOfRounding;

  /// How far `found` is away, against what it may be: above 1 it is too far.
  double off(ValueId id, const at::Tensor& found) const {
    const at::Tensor &want = single.at(id), &better = exact.at(id);
    if (!found.defined() || found.sizes() != want.sizes()) return INFINITY;
    if (found.numel() == 0) return 0;
    const double size = better.to(at::kDouble).abs().nan_to_num(0, 0, 0).max().item<double>(),
                 lost = std::max(apart(want, better), apart(shaken.at(id), better));
    return apart(found, want) / (tolerance * std::max(0.1, size) + of_rounding * lost);
  }
};

/// Plans for one to three threads, which give the same bits. What the first one says of itself.
Str compare_plans(const Recorded& of, const Wanted& wanted, bool narrows, bool is_one) {
  CAPTURE(narrows);
  Found of_one;
  Str text;
  for (const int threads : {1, 2, 3}) {
    if (is_one && threads == 2) continue;  // Three show more.
    CAPTURE(threads);
    const auto arena = std::make_shared<Arena>();
    CpuPlan plan(of.graph, of.kept, of.stretches, of.samples, threads, arena,
                 {of.of_tables.begin(), of.of_tables.end()}, narrows);
    CAPTURE(plan.text());
    if (threads == 1) text = plan.text();
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
  return text;
}

/// Averages that a norm writes, and what is made of them: who computes it twice may see two values.
std::set<ValueId> written_in(const Graph& graph) {
  std::set<ValueId> written;
  for (const Node& node : graph.nodes) {
    if (node.op != Op::batch_norm) continue;
    for (size_t at = 3; at < 6; ++at) written.insert(node.value(at).id);
  }
  written.erase(kNone);
  for (const Node& node : graph.nodes) {
    bool reads_written = false;
    each_read(node, [&](ValueId id) { reads_written = reads_written || written.contains(id); });
    if (reads_written && node.op != Op::batch_norm) written.insert(node.results.begin(), node.results.end());
  }
  return written;
}

/// With copies of some nodes, which some of what comes behind reads in their stead.
Recorded with_copies(const Recorded& from, Rng& rng) {
  Recorded of = from;
  const std::set<ValueId> written = written_in(from.graph);
  std::map<ValueId, ValueId> copied;
  const auto some_of_copies = [&](ValueRef& value) {
    if (const auto copy = copied.find(value.id); copy != copied.end() && rng.chance(0.5)) value.id = copy->second;
  };
  std::vector<Node> nodes;
  std::vector<size_t> places;
  for (Node node : from.graph.nodes) {
    places.push_back(nodes.size());
    if (node.block == 0) {
      for (Argument& argument : node.arguments) {
        if (auto* value = std::get_if<ValueRef>(&argument)) some_of_copies(*value);
        if (auto* list = std::get_if<std::vector<ValueRef>>(&argument)) std::ranges::for_each(*list, some_of_copies);
      }
    }
    nodes.push_back(node);
    bool stays = node.block != 0 || node.site || node.op == Op::batch_norm;
    each_read(node, [&](ValueId id) { stays = stays || written.contains(id); });
    if (stays || rng.chance(0.6)) continue;
    for (ValueId& id : node.results) {
      if (id != kNone) id = copied[id] = of.graph.add(of.graph.values[id]);
    }
    nodes.push_back(std::move(node));
  }
  places.push_back(nodes.size());
  of.graph.nodes = std::move(nodes);
  for (Stretch& stretch : of.stretches) stretch = {places[stretch.begin], places[stretch.end], stretch.results};
  return of;
}

/// Makes `of` simpler.
void simplify(Recorded& of) {
  std::vector<SimplifiedStretch> order;
  for (const Stretch& stretch : of.stretches) order.push_back({stretch.begin, stretch.end, stretch.results});
  const std::vector<size_t> places = plan::simplify(of.graph, order);
  for (Stretch& stretch : of.stretches) stretch = {places[stretch.begin], places[stretch.end], stretch.results};
}

/// What is left of a step whose nodes had copies gives the bits of the step.
void compare_simplified(Recorded of, Rng& rng) {
  simplify(of);
  Recorded other = with_copies(of, rng);
  simplify(other);
  CHECK(other.graph.nodes.size() == of.graph.nodes.size());
  Option<Found> wanted;
  for (const Recorded* one : {&of, &other}) {
    CpuPlan plan(one->graph, one->kept, one->stretches, one->samples, 2);
    const Found found = planned(*one, plan);
    if (!wanted) wanted = found;
    for (const auto& [id, value] : found) {
      CAPTURE(id);
      CHECK(apart(value, wanted->at(id)) == 0);
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
  return node.op == Op::sign || node.op == Op::floor || node.op == Op::round || node.op == Op::remainder ||
         node.op == Op::remainder_number || node.op == Op::number_remainder || (reads_float && !gives_float);
}

/// A deep step.
void grow(RandomStep& step) {
  Rng& rng = step.rng;
  for (int64_t ops = rng.from(2, 14); ops > 0; --ops) {
    const bool is_again = rng.chance(0.1);
    if (is_again) step.recorder.begin_again();
    for (int64_t together = is_again ? rng.from(1, 4) : 1; together > 0; --together) {
      at({"random.ltr", int(ops), 1});
      rng.one_of(kMakers)(step);
    }
    if (is_again) step.recorder.end_again();
  }
}

/// Adds the ops that lead to results of `of` and that kernels compute in a plan, which is `text`.
void count_kernels(Counts& counts, const Recorded& of, const Str& text) {
  std::vector<ValueId> results;
  for (const Stretch& stretch : of.stretches)
    results.insert(results.end(), stretch.results.begin(), stretch.results.end());
  Counts all{};
  count_ops(all, of.graph, of.graph.nodes.size(), results, false);
  std::istringstream lines(text);
  for (Str line; std::getline(lines, line);) {
    if (!line.starts_with("  LibTorch ")) continue;
    const Str called = line.substr(0, line.find(": "));
    all[size_t(op_of(called.substr(called.rfind(' ') + 1)))] = 0;
  }
  for (size_t op = 0; op < kOps; ++op) counts[op] += all[op];
}

/// `is_one`: it is a function by itself.
void compare_step(RandomStep step, uint64_t seed, bool is_one, c10::function_ref<void(RandomStep&)> grows,
                  Counts& kernels) {
  CAPTURE(seed);
  const PolicyScope floats(at::kFloat);
  Option<Recorded> made = recorded(step, seed, [&] { grows(step); });
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
  count_kernels(kernels, of, compare_plans(of, wanted, false, is_one));
  if (!is_one) compare_simplified(of, step.rng);
  if (!std::ranges::any_of(of.graph.nodes, [](const Node& node) { return multiplies(node.op); })) return;
  wanted.tolerance = INFINITY;
  const auto jumps = [&](const Node& node) { return plan::random_step::jumps(of.graph, node); };
  if (!std::ranges::any_of(of.graph.nodes, jumps)) {
    try {
      wanted.shaken = referred(of, of.graph, at::kFloat, kLastBitNarrow);
      const bool attends =
          std::ranges::any_of(of.graph.nodes, [](const Node& node) { return node.op == Op::attention; });
      wanted.tolerance = !is_one ? kToleranceNarrow : attends ? kToleranceOfAttention : kToleranceOfOne;
      if (is_one) wanted.of_rounding = 1;
    } catch (const Error&) {  // some function has no answer for numbers that are so far away
    }
  }
  compare_plans(of, wanted, true, is_one);
}

}  // namespace

TEST_CASE("random steps give the reference's numbers, and the same bits for any number of threads") {
  Counts kernels{};
  each_seed(1, 250, "LTR_RANDOM_STEPS",
            [&](uint64_t seed) { compare_step(RandomStep(seed), seed, false, grow, kernels); });
}

TEST_CASE("every kernel gives the reference's numbers, whatever the sizes and strides") {
  Counts kernels{};
  const auto has_case = [&](size_t op) { return kernels[op] > 0 || is_without_kernel(Op(op)); };
  const auto compare = [&](uint64_t seed) {
    const auto grows = [&](RandomStep& step) { grow_one(step, kMakers[seed % std::size(kMakers)]); };
    compare_step(RandomStep(seed, false), seed, true, grows, kernels);
  };
  // More of them until each op had its turn.
  const auto all = std::views::iota(size_t(0), kOps);
  const char* wanted = std::getenv("LTR_RANDOM_ROUNDS");
  const uint64_t least = wanted != nullptr ? std::stoull(wanted) : kRounds;
  for (uint64_t round = 0; round < kMostRounds && (round < least || !std::ranges::all_of(all, has_case)); ++round)
    each_seed(round * std::size(kMakers), (round + 1) * std::size(kMakers) - 1, nullptr, compare);
  // The list says all of it: what is not in it has a kernel, and a case here.
  for (size_t op = 0; op < kOps; ++op) {
    CAPTURE(Str(name_of(Op(op))));
    CHECK((kernels[op] > 0) != is_without_kernel(Op(op)));
  }
}

}  // namespace ltr::plan::random_step
