// What the recorder notes of a step, and the text form of graphs.

#undef LTR_RUNTIME  // Functions as programs call them.

#include <ATen/ATen.h>

#include <doctest/doctest.h>

#include "ltr/operators.h"
#include "ltr/ops.h"
#include "runtime/api/error.h"
#include "runtime/plan/differentiate.h"
#include "runtime/plan/recorder.h"
#include "runtime/plan/reference.h"
#include "runtime/tensor/handle.h"
#include "runtime/tensor/mode.h"
#include "runtime/tensor/random.h"

namespace ltr::plan {

namespace {

struct Layer {
  Tensor x = give(at::linspace(-1, 1, 6).reshape({2, 3}));
  Tensor weight = give(at::linspace(-0.5, 0.7, 12).reshape({4, 3}).set_requires_grad(true));
  Tensor target = give(at::tensor({1, 3}, at::kLong));

  Tensor loss() const {
    at({"a.ltr", 7, 3});
    const Tensor hidden = dropout(relu(linear(x, weight, {})), 0.5);
    at({"a.ltr", 8, 3});
    return cross_entropy(hidden, target, {}, {}, 0.1, "mean");
  }
  void record(Recorder& recorder) const {
    recorder.input(x, "x");
    recorder.input(target, "target");
    recorder.weight(weight, "net.weight");
    seed_random(random_key(1, "step", {}));
    recorder.output(loss());
  }
};

}  // namespace

TEST_CASE("a step is recorded with its sizes, draws and lines") {
  const ModeScope training(true, true);
  const Layer layer;
  Recorder recorder;
  layer.record(recorder);
  const Str text = to_text(recorder.graph());
  CHECK(text ==
        "%0 : f32[2, 3] = input x\n"
        "%1 : i64[2] = input target\n"
        "%2 : f32[4, 3] = weight net.weight\n"
        "%3 : f32[2, 4] = linear(%0, %2, undefined)  # a.ltr:7\n"
        "%4 : f32[2, 4] = relu(%3)  # a.ltr:7\n"
        "%5 : f32[2, 4] = dropout(%4, 0.5) site 0  # a.ltr:7\n"
        "%6 : f32[] = cross_entropy(%5, %1, undefined, none, 0.1, \"mean\")  # a.ltr:8\n"
        "return %6\n");
  CHECK(recorder.constants().empty());
  // Without the lines it reads back as it is.
  Graph graph = recorder.graph();
  for (Node& node : graph.nodes) node.location = {};
  CHECK(to_text(graph_of(text)) == to_text(graph));
}

TEST_CASE("what is recorded is run again on other values, with the draws of another key") {
  const ModeScope training(true, true);
  Layer layer;
  Recorder recorder;
  layer.record(recorder);
  layer.x = give(aten(layer.x) * 3);
  const uint64_t key = random_key(2, "step", {});
  Reference reference(recorder.graph(), recorder.constants());
  reference.set(0, layer.x);
  reference.set(1, layer.target);
  reference.set(2, layer.weight);
  seed_random(key);
  reference.run(0, recorder.graph().nodes.size());
  seed_random(key);
  CHECK(at::equal(aten(reference.value(6)), aten(layer.loss()).detach()));
}

TEST_CASE("nothing is recorded where nobody listens, nor what is given back as it came") {
  const ModeScope evaluation(false, true);
  const Layer layer;
  CHECK(Recorder::here() == nullptr);
  Recorder recorder;
  layer.record(recorder);
  const Str text = to_text(recorder.graph());
  CHECK(text.find("dropout") == Str::npos);
  CHECK(text.find("relu(%3) evaluating") != Str::npos);
}

TEST_CASE("tensors that nobody named are constants, and gradients stop where they are stopped") {
  const ModeScope training(true, true);
  const Layer layer;
  const Tensor scale = give(at::full({3}, 2.0F));
  Recorder recorder;
  recorder.weight(layer.weight, "net.weight");
  const Tensor scaled = mul(layer.weight, scale);
  const Tensor loss = sum(mul(stop_grad(scaled), layer.weight), {}, false);
  REQUIRE(recorder.constants().size() == 1);
  CHECK(recorder.constants().begin()->second.impl() == scale.impl());
  Graph graph = recorder.graph();
  const size_t end = graph.nodes.size();
  const ValueId seed = graph.add({.kind = Value::Kind::Input, .name = "seed"});
  const Differentiated found = differentiate(graph, end, recorder.id_of(loss), seed, {recorder.id_of(layer.weight)});
  REQUIRE_FALSE(found.refusal);
  Reference reference(graph, recorder.constants());
  reference.set(recorder.id_of(layer.weight), layer.weight);
  reference.set(seed, give(at::ones({})));
  reference.run(0, graph.nodes.size());
  CHECK(at::equal(aten(reference.value(found.gradients[0])), aten(scaled).detach()));
}

TEST_CASE("an op without a gradient refuses by its name and line") {
  const ModeScope training(true, true);
  const Tensor x = give(at::linspace(0.1, 1, 6).set_requires_grad(true));
  Recorder recorder;
  const ValueId id = recorder.weight(x, "x");
  at({"a.ltr", 12, 5});
  const Tensor loss = sum(unique(x), {}, false);
  Graph graph = recorder.graph();
  const size_t end = graph.nodes.size();
  const ValueId seed = graph.add({.kind = Value::Kind::Input, .name = "seed"});
  const Differentiated found = differentiate(graph, end, recorder.id_of(loss), seed, {id});
  REQUIRE(found.refusal);
  CHECK(found.refusal->first.find("`unique`") != Str::npos);
  CHECK(found.refusal->second.line == 12);
}

TEST_CASE("lines that are no graph are refused") {
  for (const char* line :
       {"%0", "%0 : f33[2] = input x", "%0 : f32[2] = reluu(%0)", "%0 : f32[2] = relu(%0",
        "%0 : f32[2] = gelu(%0, \"tanh)", "%0 : f32[a] = input x", "return 0", "%0 : f32[2] = elu(%1, 1.5x)"}) {
    CAPTURE(line);
    CHECK_THROWS_AS(graph_of(line), Error);
  }
}

}  // namespace ltr::plan
