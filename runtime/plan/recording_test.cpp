// What two recordings of a step tell: what is the same in each run, and what no plan can be made of.

#undef LTR_RUNTIME  // Functions as programs call them.

#include <ATen/ATen.h>

#include <doctest/doctest.h>

#include <functional>

#include "ltr/operators.h"
#include "ltr/ops.h"
#include "runtime/plan/differentiate.h"
#include "runtime/plan/recorder.h"
#include "runtime/plan/reference.h"
#include "runtime/tensor/handle.h"
#include "runtime/tensor/mode.h"
#include "runtime/tensor/random.h"

namespace ltr::plan {

namespace {

Tensor numbers(double first) { return give(at::linspace(first, first + 1, 4)); }

/// `step` on `x`, as line 5.
Recording recorded(const Tensor& x, const std::function<void(const Tensor& x)>& step,
                   const Recording* known = nullptr) {
  Recorder recorder(known);
  recorder.field(x, 0, "x");
  at({"a.ltr", 5, 3});
  step(x);
  return recorder.take();
}

/// `is_told`: nothing of the second run is computed that is as in the first.
Option<Refusal> of_two(const std::function<void(const Tensor& x)>& step, bool is_told) {
  const Recording first = recorded(numbers(0), step);
  return difference(first, recorded(numbers(1), step, is_told ? &first : nullptr));
}

}  // namespace

TEST_CASE("a step that does the same with two batches has a plan") {
  const Tensor scale = numbers(3);
  for (const bool is_told : {false, true})
    CHECK_FALSE(of_two([&](const Tensor& x) { mul(add(x, tensor_of(2.0)), scale); }, is_told));
}

TEST_CASE("a run that is told from an earlier one computes what is not as it was there") {
  const ModeScope training(true, true);
  const Tensor weight = give(at::linspace(1, 2, 4).set_requires_grad(true));
  std::vector<Tensor> results;
  const auto run = [&](const Recording* known) {
    seed_random(random_key(1, "step", {}));
    return recorded(
        numbers(1),
        [&](const Tensor& x) {
          const Tensor scaled = mul(x, weight), dropped = dropout(scaled, 0.5);
          results = {scaled, dropped, argmax(dropped, 0, false), dropout(dropped, 0.5)};
        },
        known);
  };
  const Recording first = run(nullptr), second = run(&first);
  CHECK_FALSE(difference(first, second));
  CHECK(aten(results[0]).equal(at::zeros({4})));
  CHECK(aten(results[0]).stride(0) == 0);  // one element stands for all
  CHECK(aten(results[0]).requires_grad());
  CHECK(aten(results[1]).stride(0) == 0);
  CHECK(aten(results[3]).requires_grad());
  // Without gradients it is another step.
  const ModeScope none(true, false);
  CHECK(difference(first, run(&first)));
}

TEST_CASE("what changes from batch to batch is named with its line") {
  double count = 0;
  bool is_told = false;
  SUBCASE("from values") {}
  SUBCASE("from calls alone") { is_told = true; }
  const auto of_two = [&](const auto& step) { return plan::of_two(step, is_told); };
  const Option<Refusal> number = of_two([&](const Tensor& x) { mul(x, Scalar(count++)); });
  REQUIRE(number);
  CHECK(number->reason == "takes numbers of the host that change from batch to batch");
  CHECK(number->location.line == 5);
  const Option<Refusal> given = of_two([&](const Tensor& x) { relu(tensor_of(count++)), relu(x); });
  REQUIRE(given);
  CHECK(given->location.line == 5);
  const Option<Refusal> unseen = of_two([&](const Tensor& x) { mul(x, numbers(count++)); });
  REQUIRE(unseen);
  CHECK(unseen->reason.starts_with("reads a tensor, f32["));
  CHECK(unseen->reason.find("that no op of the step made") != Str::npos);
  CHECK(unseen->location.line == 5);
  bool is_first = true;
  const Option<Refusal> branch = of_two([&](const Tensor& x) { std::exchange(is_first, false) ? relu(x) : tanh(x); });
  REQUIRE(branch);
  CHECK(branch->reason == "does other work in each batch");
  CHECK(of_two([&](const Tensor& x) {
    relu(x);
    if (!std::exchange(is_first, true)) relu(x);
  }));
}

TEST_CASE("what the host reads is refused, at its first place") {
  const Recording read = recorded(numbers(0), [](const Tensor& x) {
    at({"a.ltr", 6, 3});
    static_cast<void>(sum(x, {}, false).item());
    at({"a.ltr", 7, 3});
    static_cast<void>(sum(x, {}, false).item());
  });
  REQUIRE(read.refusal);
  CHECK(read.refusal->reason == reason_of(Unplanned::HostRead));
  CHECK(read.refusal->location.line == 6);
}

TEST_CASE("what the host said is said in words") {
  CHECK(to_text(Guard(CountRead{&Context::global_step, 3})) == "global_step = 3");
  CHECK(to_text(Guard(CountRead{&Context::batch_index, 0})) == "batch_index = 0");
  CHECK(to_text(Guard(PeriodRead{ltr::Value::steps(2), false, true})) == "every 2 steps is due");
  CHECK(to_text(Guard(PeriodRead{ltr::Value::steps(2), false, false})) == "every 2 steps is not due");
}

TEST_CASE("writes into buffers are effects in their order") {
  const Tensor buffer = give(at::zeros({4}));
  const Recording written = recorded(numbers(0), [&](const Tensor& x) {
    const Tensor twice = mul(x, Scalar(2));
    assign(buffer, twice);
    assign(buffer, Scalar(1));
    relu(twice);
  });
  REQUIRE(written.marks.size() == 2);
  CHECK(std::holds_alternative<BufferAssigned>(written.marks[0].effect));
  CHECK(std::holds_alternative<BufferFilled>(written.marks[1].effect));
  CHECK(written.marks[1].end == 1);
  CHECK(written.graph.nodes.size() == 2);
  CHECK(In(buffer)->eq(0).all().item<bool>());  // it was only rehearsed
}

TEST_CASE("a weight that is frozen where it is read gets no gradient from there") {
  const ModeScope training(true, true);
  const Tensor weight = give(at::linspace(1, 2, 4).set_requires_grad(true)), x = numbers(0);
  Recorder recorder;
  const ValueId id = recorder.weight(weight, "w");
  const Tensor trained = mul(x, weight);
  Tensor loss;
  {
    const Frozen frozen({{"w", weight}});
    loss = sum(mul(trained, weight), {}, false);
  }
  const ValueId loss_id = recorder.id_of(loss);
  Recording recording = recorder.take();
  const size_t end = recording.graph.nodes.size();
  const ValueId seed = recording.graph.add({.kind = Value::Kind::Input, .name = "seed"});
  const Differentiated found = differentiate(recording.graph, end, loss_id, seed, {id});
  REQUIRE_FALSE(found.refusal);
  Reference reference(recording.graph, recording.kept);
  reference.set(seed, give(at::ones({})));
  reference.run(0, recording.graph.nodes.size());
  // Of x w · w with the second one frozen: x w, not 2 x w.
  CHECK(at::allclose(aten(reference.value(found.gradients[0])), aten(trained).detach()));
}

}  // namespace ltr::plan
