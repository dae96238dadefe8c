// Graphs on an accelerator: captured in the second run, the same values in all of them.

#undef LTR_RUNTIME  // Functions as programs call them.

#include "runtime/plan/replays.h"

#include <ATen/ATen.h>

#include <doctest/doctest.h>

#include <torch/csrc/autograd/autograd.h>

#include <set>

#include "ltr/operators.h"
#include "ltr/ops.h"
#include "runtime/plan/recorder.h"
#include "runtime/plan/rule.h"
#include "runtime/tensor/fake_accelerator.h"
#include "runtime/tensor/handle.h"
#include "runtime/tensor/precision.h"
#include "runtime/tensor/random.h"

namespace ltr::plan {

namespace {

/// A step with a draw of the host in its middle, cut in two: what each part gives others is `first` and `second`.
struct Recorded {
  Recorded() {
    Recorder recorder;
    recorder.field(x, 0, "x");
    recorder.weight(weight, "w");
    seed_random(1);
    at({"a.ltr", 5, 3});
    const Tensor hidden = relu(matmul(x, weight));
    const Tensor early = sum(hidden, {}, false);
    const Tensor noise = randn({4, 6});
    const Tensor noisy = mul(dropout(add(hidden, noise), 0.5), Scalar(2.0));
    const Tensor late = sum(mul(noisy, hidden), {}, false);
    first = recorder.id_of(early);
    second = recorder.id_of(late);
    const Recording recording = recorder.take();
    graph = recording.graph;
    kept = recording.kept;
    field = recording.fields.at(0).value;
    size_t cut = 0;
    while (graph.nodes[cut].results[0] != first) ++cut;
    stretches = {{0, cut + 1, {first}}, {cut + 1, graph.nodes.size(), {second}}};
    deaths.resize(graph.nodes.size());
    // What nobody reads any more goes, as in a step.
    std::set<ValueId> known{first, second, field};
    for (const auto& [id, tensor] : kept) known.insert(id);
    for (size_t i = graph.nodes.size(); i-- > 0;) {
      each_read(graph.nodes[i], [&](ValueId id) {
        if (known.insert(id).second) deaths[i].push_back(id);
      });
    }
  }

  Tensor x = give(at::linspace(-1, 1, 20).reshape({4, 5})), weight = give(at::linspace(-2, 3, 30).reshape({5, 6}));
  Graph graph;
  std::unordered_map<ValueId, Tensor> kept;
  std::vector<std::vector<ValueId>> deaths;
  std::vector<Stretch> stretches;
  ValueId field = kNone, first = kNone, second = kNone;
};

/// Both results of run `number`, whose batch and draws are its own.
std::vector<double> ran(const Recorded& of, Reference& reference, Replays* replays, int number) {
  const auto begin = [&] {
    reference.clear(of.kept);
    seed_random(uint64_t(number));
    reference.set(of.field, give(*In(of.x) * (1.0 + number)));
  };
  begin();
  if (replays != nullptr && replays->is_due()) {
    replays->capture();
    begin();
  }
  for (size_t part = 0; part < 2; ++part) {
    const Stretch& stretch = of.stretches[part];
    replays != nullptr ? replays->run(part) : reference.run(stretch.begin, stretch.end);
  }
  return {In(reference.value(of.first))->item<double>(), In(reference.value(of.second))->item<double>()};
}

}  // namespace

TEST_CASE("replays give what the reference gives, run by run") {
  Recorded of;
  const fake::OnFakeDevice there;
  Reference plain(of.graph, of.kept), reference(of.graph, of.kept);
  reference.forget_behind(of.deaths);
  Replays replays(of.graph, reference, of.stretches, of.kept, of.deaths);
  CHECK(replays.text() == "one by one in the first run");
  for (int number = 1; number < 6; ++number) {
    CAPTURE(number);
    CHECK(ran(of, reference, &replays, number) == ran(of, plain, nullptr, number));
    CHECK(replays.lends_values() == (number > 1));
  }
  // In front of the host's draw and behind it.
  CHECK(there.device.captures == 2);
  CHECK(there.device.replays == 2 + 8);
  CHECK(replays.text() == "7 of them queued by 2 calls\n  by itself  a.ltr:5  randn");
}

TEST_CASE("a weight that lies elsewhere is found there") {
  Recorded of;
  const fake::OnFakeDevice there;
  Reference plain(of.graph, of.kept), reference(of.graph, of.kept);
  reference.forget_behind(of.deaths);
  Replays replays(of.graph, reference, of.stretches, of.kept, of.deaths);
  for (int number = 1; number < 4; ++number) ran(of, reference, &replays, number);
  at::Tensor weight = aten(of.weight);
  weight.set_data(weight * 2);
  for (int number = 4; number < 8; ++number) {
    CAPTURE(number);
    CHECK(ran(of, reference, &replays, number) == ran(of, plain, nullptr, number));
  }
  CHECK(there.device.captures == 4);
}

TEST_CASE("losses have the gradients of autograd, and what lies between is no one's") {
  const fake::OnFakeDevice there;
  const Tensor weight = give(at::linspace(-2, 3, 30).reshape({5, 6}).requires_grad_(true));
  const Tensor x = give(at::linspace(-1, 1, 20).reshape({4, 5}));
  Recorder recorder;
  recorder.field(x, 0, "x");
  recorder.weight(weight, "w");
  const Tensor loss = mean(square(relu(matmul(x, weight))), {}, false);
  const ValueId of_loss = recorder.id_of(loss);
  Recording recording = recorder.take();
  Graph& graph = recording.graph;
  const size_t end = graph.nodes.size();
  const ValueId seed = graph.add({.kind = Value::Kind::Input, .dtype = DType::F32, .name = "seed"});
  const ValueId of_weight = recording.kept.begin()->first;
  const ValueId gradient =
      Builder(graph, {}).call(Op::loss_gradients, DType::F32, 1,
                              {ValueRef{of_loss}, ValueRef{seed}, std::vector<ValueRef>{{of_weight}}, false})[0];
  Reference reference(graph, recording.kept);
  reference.run_with_autograd();
  const std::vector<std::vector<ValueId>> deaths(graph.nodes.size());
  Replays replays(graph, reference, {{0, end, {of_loss}}, {end, end + 1, {gradient}}}, recording.kept, deaths);
  for (int number = 1; number < 5; ++number) {
    CAPTURE(number);
    const at::Tensor batch = *In(x) * double(number), of = aten(weight).detach().clone().requires_grad_(true);
    const at::Tensor wanted = torch::autograd::grad({at::relu(at::matmul(batch, of)).square().mean()}, {of})[0];
    const auto begin = [&] {
      reference.clear(recording.kept);
      reference.set(recording.fields.at(0).value, give(batch));
      reference.set(seed, give(at::ones({})));
    };
    begin();
    if (replays.is_due()) {
      replays.capture();
      begin();
    }
    replays.run(0);
    reference.set(seed, give(at::ones({})));
    replays.run(1);
    CHECK(at::equal(In(reference.value(gradient)), wanted));
  }
  CHECK(there.device.captures == 2);
}

TEST_CASE(
    "a weight that narrows is cast once for all parts of a step, so that its gradient is the sum of narrow ones") {
  const fake::OnFakeDevice there;
  set_precision("bf16");
  const Tensor weight = give(at::linspace(-2, 3, 25).sin().reshape({5, 5}).requires_grad_(true));
  const Tensor x = give(at::linspace(-1, 1, 20).reshape({4, 5}));
  Recorder recorder;
  recorder.field(x, 0, "x");
  recorder.weight(weight, "w");
  const Tensor once = relu(matmul(x, weight));
  const Tensor loss = mean(square(matmul(once, weight)), {}, false);
  const ValueId of_once = recorder.id_of(once), of_loss = recorder.id_of(loss);
  Recording recording = recorder.take();
  Graph& graph = recording.graph;
  const size_t end = graph.nodes.size();
  size_t cut = 0;
  while (graph.nodes[cut].results[0] != of_once) ++cut;
  const ValueId seed = graph.add({.kind = Value::Kind::Input, .dtype = DType::F32, .name = "seed"});
  const ValueId of_weight = recording.kept.begin()->first;
  const ValueId gradient =
      Builder(graph, {}).call(Op::loss_gradients, DType::F32, 1,
                              {ValueRef{of_loss}, ValueRef{seed}, std::vector<ValueRef>{{of_weight}}, false})[0];
  const auto begin = [&](Reference& reference) {
    reference.run_with_autograd();
    reference.clear(recording.kept);
    reference.set(recording.fields.at(0).value, x);
    reference.set(seed, give(at::ones({})));
    forget_casts();
  };
  Reference plain(graph, recording.kept), reference(graph, recording.kept);
  begin(plain);
  plain.run(0, end + 1);
  const std::vector<std::vector<ValueId>> deaths(graph.nodes.size());
  Replays replays(graph, reference, {{0, cut + 1, {}}, {cut + 1, end, {of_loss}}, {end, end + 1, {gradient}}},
                  recording.kept, deaths);
  begin(reference);
  replays.capture();
  CHECK(there.device.captures == 3);
  CHECK(at::equal(In(reference.value(gradient)), In(plain.value(gradient))));
  set_precision("f32");
  forget_casts();
}

TEST_CASE("where a device captures nothing, nodes run one by one, and it says why") {
  Recorded of;
  fake::OnFakeDevice there;
  there.device.refusals = 1000;
  Reference plain(of.graph, of.kept), reference(of.graph, of.kept);
  Replays replays(of.graph, reference, of.stretches, of.kept, of.deaths);
  for (int number = 1; number < 6; ++number) {
    CAPTURE(number);
    CHECK(ran(of, reference, &replays, number) == ran(of, plain, nullptr, number));
  }
  CHECK(there.device.replays == 0);
}

TEST_CASE("a node that a device cannot capture runs by itself") {
  Recorded of;
  fake::OnFakeDevice there;
  there.device.refusals = 2;
  Reference plain(of.graph, of.kept), reference(of.graph, of.kept);
  reference.forget_behind(of.deaths);
  Replays replays(of.graph, reference, of.stretches, of.kept, of.deaths);
  for (int number = 1; number < 6; ++number) {
    CAPTURE(number);
    CHECK(ran(of, reference, &replays, number) == ran(of, plain, nullptr, number));
  }
  CHECK(replays.text().find("by itself") != Str::npos);
}

}  // namespace ltr::plan
