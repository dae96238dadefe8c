// What passes over graphs make of small ones: text before, text after.

#include <ATen/ATen.h>
#include <doctest/doctest.h>
#include <fmt/format.h>

#include "runtime/plan/differentiate.h"
#include "runtime/plan/fold_norms.h"
#include "runtime/plan/hold_averages.h"
#include "runtime/plan/needed_weights.h"
#include "runtime/plan/recompute.h"
#include "runtime/plan/simplify.h"
#include "runtime/tensor/handle.h"

namespace ltr::plan {

namespace {

/// `text` with gradients of its weights, which it does not say: whatever hangs on one.
Graph trained(std::string_view text) {
  Graph graph = graph_of(text);
  for (Value& value : graph.values) value.needs_grad = value.kind == Value::Kind::Weight;
  for (const Node& node : graph.nodes) {
    bool hangs = false;
    each_read(node, [&](ValueId id) { hangs = hangs || graph.values[id].needs_grad; });
    for (const ValueId id : node.results) graph.values[id].needs_grad = hangs && graph.values[id].dtype == DType::F32;
  }
  return graph;
}

/// The nodes from `begin` on, a line each.
Str nodes_behind(const Graph& graph, size_t begin) {
  Graph rest = graph;
  rest.nodes.erase(rest.nodes.begin(), rest.nodes.begin() + ptrdiff_t(begin));
  for (Value& value : rest.values) value.kind = Value::Kind::Result;
  const Str text = to_text(rest);
  return text.substr(0, text.find("return"));
}

struct Gradients {
  Str nodes;
  std::vector<ValueId> of;
};
/// Of the last value by the weights `by`.
Gradients gradients_of(Graph graph, const std::vector<ValueId>& by) {
  const size_t end = graph.nodes.size();
  const ValueId loss = graph.nodes.back().results[0];
  const ValueId seed = graph.add({.kind = Value::Kind::Input, .is_sized = true, .name = "seed"});
  const Differentiated found = differentiate(graph, end, loss, seed, by);
  REQUIRE_FALSE(found.refusal);
  return {nodes_behind(graph, end), found.gradients};
}

}  // namespace

TEST_CASE("differentiate goes from the loss to the weights, and joins what comes to a value twice") {
  const Gradients found = gradients_of(trained("%0 : f32[4, 3] = input x\n"
                                               "%1 : f32[3] = weight w\n"
                                               "%2 : f32[4, 3] = mul(%0, %1)\n"
                                               "%3 : f32[4, 3] = exp(%2)\n"
                                               "%4 : f32[4, 3] = add(%3, %2)\n"
                                               "%5 : f32[] = sum(%4, none, false)\n"),
                                       {1});
  CHECK(found.nodes ==
        "%7 : f32 = reshape(%6, [1, 1])\n"
        "%8 : f32[4, 3] = expand(%7, [4, 3])\n"
        "%9 : f32[4, 3] = mul(%8, %3)\n"
        "%10 : f32[4, 3] = add(%8, %9)\n"
        "%11 : f32 = mul(%10, %0)\n"
        "%12 : f32[3] = sum_to(%11, [3])\n");
  CHECK(found.of == std::vector<ValueId>{12});
}

TEST_CASE("differentiate leaves out what leads to no weight that is asked for") {
  const Graph graph = trained(
      "%0 : f32[4, 3] = input x\n"
      "%1 : f32[2, 3] = weight first\n"
      "%2 : f32[5, 2] = weight second\n"
      "%3 : f32[4, 2] = linear(%0, %1, undefined)\n"
      "%4 : f32[4, 5] = linear(%3, %2, undefined)\n"
      "%5 : f32[] = sum(%4, none, false)\n");
  CHECK(gradients_of(graph, {2}).nodes ==
        "%7 : f32 = reshape(%6, [1, 1])\n"
        "%8 : f32[4, 5] = expand(%7, [4, 5])\n"
        "%9 : f32 = reshape(%8, [4, 5])\n"
        "%12 : f32 = transpose(%9, -2, -1)\n"
        "%13 : f32 = reshape(%3, [4, 2])\n"
        "%14 : f32[5, 2] = matmul(%12, %13)\n");
  CHECK(gradients_of(graph, {1, 2}).nodes ==
        "%7 : f32 = reshape(%6, [1, 1])\n"
        "%8 : f32[4, 5] = expand(%7, [4, 5])\n"
        "%9 : f32 = reshape(%8, [4, 5])\n"
        "%10 : f32 = matmul(%9, %2)\n"
        "%11 : f32[4, 2] = reshape(%10, [4, 2])\n"
        "%12 : f32 = transpose(%9, -2, -1)\n"
        "%13 : f32 = reshape(%3, [4, 2])\n"
        "%14 : f32[5, 2] = matmul(%12, %13)\n"
        "%15 : f32 = reshape(%11, [4, 2])\n"
        "%16 : f32 = transpose(%15, -2, -1)\n"
        "%17 : f32 = reshape(%0, [4, 3])\n"
        "%18 : f32[2, 3] = matmul(%16, %17)\n");
}

TEST_CASE("what a block gave is computed again in front of the first gradient that reads it") {
  // 2 is given to the block, and what it gives, 5, only others read: neither is computed again.
  Graph graph = graph_of(
      "%0 : f32[4] = input x\n"
      "%1 : f32[4] = weight w\n"
      "%2 : f32[4] = mul(%0, %1)\n"
      "%3 : f32[4] = exp(%2) again 1\n"
      "%4 : f32[4] = dropout(%3, 0.5) site 7 again 1\n"
      "%5 : f32[4] = tanh(%4) again 1\n"
      "%6 : f32[4] = square(%5)\n"
      "%7 : f32[4] = mul(%6, %5)\n"
      "%8 : f32[4] = mul(%7, %4) again 1\n"
      "%9 : f32[4] = mul(%8, %3) again 1\n"
      "%10 : f32[4] = mul(%9, %2)\n");
  compute_again(graph, 5, 5, {});
  CHECK(nodes_behind(graph, 5) ==
        "%7 : f32[4] = mul(%6, %5)\n"
        "%11 : f32[4] = exp(%2) again 1\n"
        "%12 : f32[4] = dropout(%11, 0.5) site 7 again 1\n"
        "%8 : f32[4] = mul(%7, %12) again 1\n"
        "%9 : f32[4] = mul(%8, %11) again 1\n"
        "%10 : f32[4] = mul(%9, %2)\n");
}

TEST_CASE("what a block read of a weight that was written since is not computed again") {
  Graph graph = graph_of(
      "%0 : f32[4] = input x\n"
      "%1 : f32[4] = weight w\n"
      "%2 : f32[4] = mul(%0, %1) again 1\n"
      "%3 : f32[4] = exp(%2) again 1\n"
      "%4 : f32[4] = mul(%3, %2) again 1\n");
  compute_again(graph, 2, 2, {1});
  CHECK(nodes_behind(graph, 2) ==
        "%5 : f32[4] = exp(%2) again 1\n"
        "%4 : f32[4] = mul(%5, %2) again 1\n");
}

namespace {

/// Behind `fold_norms`, where something outside reads the values `logged`.
Str folded(const Str& text, const std::vector<ValueId>& logged = {}) {
  Recording recording;
  recording.graph = graph_of(text);
  for (const ValueId id : logged) recording.marks.push_back({recording.graph.nodes.size(), TensorLogged{0, id}, {}});
  fold_norms(recording);
  return nodes_behind(recording.graph, 0);
}

}  // namespace

TEST_CASE("a norm of evaluation becomes part of the weight of the layer that it reads") {
  const Str given =
      "%0 : f32[8, 3, 6, 6] = input x\n"
      "%1 : f32[4, 3, 3, 3] = weight first\n"
      "%2 : f32[4] = weight scale\n"
      "%3 : f32[4] = weight shift\n"
      "%4 : f32[4] = weight mean\n"
      "%5 : f32[4] = weight var\n";
  const Str layer =
      "%6 : f32[8, 4, 6, 6] = conv2d(%0, %1, undefined, [1, 1], [1, 1, 1, 1], [1, 1], 1) evaluating\n"
      "%7 : f32[8, 4, 6, 6] = relu(%0) evaluating\n"
      "%8 : f32[8, 4, 6, 6] = batch_norm(%6, %2, %3, %4, %5, undefined, 0.1, 0.01) evaluating\n";
  CHECK(folded(given + layer) ==
        "%9 : f32[4, 3, 3, 3], %10 : f32[4] = fold_norm(%1, undefined, %2, %3, %4, %5, 0.01, 0, 1) evaluating\n"
        "%7 : f32[8, 4, 6, 6] = relu(%0) evaluating\n"
        "%8 : f32[8, 4, 6, 6] = conv2d(%0, %9, %10, [1, 1], [1, 1, 1, 1], [1, 1], 1) evaluating\n");
  // Where another one reads what the layer gives, it stays.
  CHECK(folded(given + layer, {6}) == layer);
  const Str other = layer + "%9 : f32[8, 4, 6, 6] = exp(%6) evaluating\n";
  CHECK(folded(given + other) == other);
  // In training a norm hangs on the batch.
  Str trained = layer;
  trained.resize(trained.size() - Str(" evaluating\n").size());
  trained += "\n";
  CHECK(folded(given + trained) == trained);
  // Behind what is no layer, whatever its arguments are, there is nothing to become part of.
  const Str scaled =
      "%6 : f32[8, 3, 6, 6] = mul_number(%0, 0.25) evaluating\n"
      "%7 : f32[8, 3, 6, 6] = batch_norm(%6, undefined, undefined, %4, %5, undefined, 0.1, 0.01) evaluating\n";
  CHECK(folded(given + scaled) == scaled);
}

TEST_CASE("a norm stays behind a layer that gives less than its weight has") {
  const auto linear = [](int64_t samples) {
    const Str layer = fmt::format(
        "%6 : f32[{0}, 4] = linear(%0, %1, %2) evaluating\n"
        "%7 : f32[{0}, 4] = batch_norm(%6, undefined, undefined, %3, %4, undefined, 0.1, 0.01) evaluating\n",
        samples);
    return std::pair(layer, folded(fmt::format("%0 : f32[{}, 16] = input x\n"
                                               "%1 : f32[4, 16] = weight w\n"
                                               "%2 : f32[4] = weight b\n"
                                               "%3 : f32[4] = weight mean\n"
                                               "%4 : f32[4] = weight var\n"
                                               "%5 : f32[4] = weight other\n",
                                               samples) +
                                   layer));
  };
  const auto [few, stays] = linear(15);
  CHECK(stays == few);
  CHECK(linear(16).second ==
        "%8 : f32[4, 16], %9 : f32[4] = fold_norm(%1, %2, undefined, undefined, %3, %4, 0.01, 0, 1) evaluating\n"
        "%7 : f32[16, 4] = linear(%0, %8, %9) evaluating\n");
}

namespace {

/// Behind `simplify`, as one stretch of which `kept` is read outside.
Str simplified(std::string_view text, std::vector<ValueId> kept) {
  Graph graph = graph_of(text);
  simplify(graph, {{.begin = 0, .end = graph.nodes.size(), .kept = std::move(kept)}});
  return nodes_behind(graph, 0);
}

}  // namespace

TEST_CASE("what is computed twice is computed once") {
  const Str given =
      "%0 : f32[4, 3] = input x\n"
      "%1 : f32[3] = weight w\n";
  CHECK(simplified(given + "%2 : f32[4, 3] = mul(%0, %1)\n"
                           "%3 : f32[4, 3] = exp(%2)\n"
                           "%4 : f32[4, 3] = mul(%0, %1)\n"
                           "%5 : f32[4, 3] = exp(%4)\n"
                           "%6 : f32[8, 3] = cat({%3, %5}, 0)\n"
                           "%7 : f32[4, 3] = mul_number(%2, 2)\n"
                           "%8 : f32[4, 3] = mul_number(%4, 3)\n",
                   {6, 7, 8}) ==
        "%2 : f32[4, 3] = mul(%0, %1)\n"
        "%3 : f32[4, 3] = exp(%2)\n"
        "%6 : f32[8, 3] = cat({%3, %3}, 0)\n"
        "%7 : f32[4, 3] = mul_number(%2, 2)\n"
        "%8 : f32[4, 3] = mul_number(%2, 3)\n");
  // What a block computes again, what is drawn, what runs in another mode and what others read stays.
  const Str stays =
      "%2 : f32[4, 3] = dropout(%0, 0.5) site 0\n"
      "%3 : f32[4, 3] = dropout(%0, 0.5) site 1\n"
      "%4 : f32[4, 3] = exp(%0)\n"
      "%5 : f32[4, 3] = exp(%0) again 1\n"
      "%6 : f32[4, 3] = exp(%0) evaluating\n"
      "%7 : f32[4, 3] = exp(%0)\n";
  CHECK(simplified(given + stays, {2, 3, 4, 5, 6, 7}) == stays);
}

TEST_CASE("a norm that takes its batch in stays, and so does what reads its averages") {
  const Str given =
      "%0 : f32[8, 4] = input x\n"
      "%1 : f32[4] = weight mean\n"
      "%2 : f32[4] = weight var\n";
  const Str norms =
      "%3 : f32[1, 4] = reshape(%1, [1, 4])\n"
      "%4 : f32[8, 4] = sub(%0, %3)\n"
      "%5 : f32[8, 4] = batch_norm(%0, undefined, undefined, %1, %2, undefined, 0.1, 0.01)\n"
      "%6 : f32[8, 4] = batch_norm(%0, undefined, undefined, %1, %2, undefined, 0.1, 0.01)\n"
      "%7 : f32[1, 4] = reshape(%1, [1, 4])\n"
      "%8 : f32[8, 4] = sub(%0, %7)\n";
  CHECK(simplified(given + norms, {4, 5, 6, 8}) == norms);
  CHECK(simplified(
            given + "%3 : f32[8, 4] = batch_norm(%0, undefined, undefined, %1, %2, undefined, 0.1, 0.01) evaluating\n"
                    "%4 : f32[8, 4] = batch_norm(%0, undefined, undefined, %1, %2, undefined, 0.1, 0.01) evaluating\n"
                    "%5 : f32[8, 4] = add(%3, %4) evaluating\n",
            {5}) ==
        "%3 : f32[8, 4] = batch_norm(%0, undefined, undefined, %1, %2, undefined, 0.1, 0.01) evaluating\n"
        "%5 : f32[8, 4] = add(%3, %3) evaluating\n");
}

TEST_CASE("a norm of evaluation that gradients pass holds averages that one in training moves behind it") {
  const Str given =
      "%0 : f32[8, 4] = weight w\n"
      "%1 : f32[4] = constant mean\n"
      "%2 : f32[4] = constant var\n";
  const Str evaluated =
      "%3 : f32[8, 4] = batch_norm(%0, undefined, undefined, %1, %2, undefined, 0.1, 0.01) evaluating\n";
  const Str trained_behind = "%4 : f32[8, 4] = batch_norm(%0, undefined, undefined, %1, %2, undefined, 0.1, 0.01)\n";
  Recording recording;
  recording.graph = trained(given + evaluated + trained_behind);
  recording.marks.push_back({1, TensorLogged{0, 3}, {}});
  hold_averages(recording);
  CHECK(nodes_behind(recording.graph, 0) ==
        "%5 : f32[4] = clone(%1)\n"
        "%6 : f32[4] = clone(%2)\n"
        "%3 : f32[8, 4] = batch_norm(%0, undefined, undefined, %5, %6, undefined, 0.1, 0.01) evaluating\n" +
            trained_behind);
  CHECK(recording.marks[0].end == 3);
  // Where nothing moves them, or nothing differentiates, it takes them as they are.
  recording.marks.clear();
  recording.graph = trained(given + evaluated);
  hold_averages(recording);
  CHECK(nodes_behind(recording.graph, 0) == evaluated);
  recording.graph = graph_of(given + evaluated + trained_behind);
  hold_averages(recording);
  CHECK(nodes_behind(recording.graph, 0) == evaluated + trained_behind);
}

TEST_CASE("a gradient needs the weights that it reads as they were where they were read, under whatever name") {
  Recording recording;
  recording.graph = trained(
      "%0 : f32[4, 3] = input x\n"
      "%1 : f32[3] = weight w\n"
      "%2 : f32[3] = constant frozen\n"
      "%3 : f32[4, 3] = mul(%0, %1)\n"
      "%4 : f32[1, 3] = unsqueeze(%2, 0)\n"
      "%5 : f32[4, 3] = mul(%3, %4)\n"
      "%6 : f32[] = sum(%5, none, false)\n");
  const Tensor weight = give(at::zeros({3}));
  recording.kept = {{1, weight}, {2, weight}};
  recording.marks.push_back({1, NumberLogged{0, 1}, {}});
  recording.marks.push_back({4, BackwardOf{6, {1}}, {}});
  const size_t end = recording.graph.nodes.size();
  const ValueId seed = recording.graph.add({.kind = Value::Kind::Input, .is_sized = true, .name = "seed"});
  const Differentiated found = differentiate(recording.graph, end, 6, seed, {1});
  const std::vector<NeededWeight> needed = needed_weights(recording, end, end, found.of);
  REQUIRE(needed.size() == 1);
  CHECK(needed[0].mark == 1);
  CHECK(needed[0].weight->impl() == weight.impl());
}

TEST_CASE("what was computed before a weight moved, or in a part that may be left out, stands for nothing behind it") {
  // They run in this order: the first two nodes, those of a gradient, which stand last, and the three in the middle.
  const Str first =
      "%2 : f32[4] = mul(%0, %1)\n"
      "%3 : f32[4] = exp(%2)\n";
  const Str part =
      "%8 : f32[4] = tanh(%2)\n"
      "%10 : f32[4] = add(%8, %8)\n";
  const auto simplified = [&](bool is_written) {
    Graph graph = graph_of(
        "%0 : f32[4] = input x\n"
        "%1 : f32[4] = weight w\n" +
        first +
        "%4 : f32[4] = mul(%0, %1)\n"
        "%5 : f32[4] = tanh(%4)\n"
        "%6 : f32[4] = exp(%5)\n"
        "%7 : f32[4] = mul(%0, %1)\n"
        "%8 : f32[4] = tanh(%7)\n"
        "%9 : f32[4] = tanh(%2)\n"
        "%10 : f32[4] = add(%8, %9)\n");
    const SimplifiedStretch gradient{
        .begin = 5, .end = 9, .kept = {10}, .may_be_left_out = true, .writes_behind = is_written};
    const std::vector<size_t> places =
        simplify(graph, {{.begin = 0, .end = 2, .kept = {3}}, gradient, {.begin = 2, .end = 5, .kept = {6}}});
    CHECK(places.size() == 10);
    CHECK(places[5] == (is_written ? 5 : 4));
    CHECK(places[9] == graph.nodes.size());
    return nodes_behind(graph, 0);
  };
  CHECK(simplified(true) == first +
                                "%4 : f32[4] = mul(%0, %1)\n"
                                "%5 : f32[4] = tanh(%4)\n"
                                "%6 : f32[4] = exp(%5)\n" +
                                part);
  CHECK(simplified(false) == first +
                                 "%5 : f32[4] = tanh(%2)\n"
                                 "%6 : f32[4] = exp(%5)\n" +
                                 part);
}

}  // namespace ltr::plan
