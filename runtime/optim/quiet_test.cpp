// An update of a planned step: what is in quiet_test.cpp of plans holds for it, too.

#include <ATen/ATen.h>
#include <doctest/doctest.h>

#include "runtime/optim/optimizer.h"
#include "runtime/plan/cpu/quiet_counts.h"
#include "runtime/tensor/handle.h"
#include "runtime/train/root_state.h"

namespace ltr {

namespace {

/// `held`: one weight has no gradient, and one moves by half the rate.
void expect_quiet(const char* rule, std::vector<Argument> arguments, bool held = false) {
  CAPTURE(Str(rule));
  ModelRoot root(0);
  Weights weights;
  // The last ones are worth several threads.
  for (const Ints& sizes : {Ints{5}, Ints{12}, Ints{3, 4, 2}, Ints{200'000}, Ints{500, 400}}) {
    const Str name = fmt::format("w{}", weights.size());
    const at::Tensor numbers = at::linspace(-1, 1, c10::multiply_integers(sizes)).reshape(sizes);
    weights.push_back({name, root.scope().weight(name.c_str(), give(numbers), {})});
  }
  Optimizer& optimizer = *root.scope().optimizer("opt", Value::call(rule, std::move(arguments)), weights,
                                                 {{"clip_norm", 0.1, "float", {}}}, {}, {});
  root.finish();
  if (held) optimizer.set_share(In(weights[1].tensor), 0.5);
  const auto update = [&](int64_t t) {
    for (const Weight& weight : weights) {
      if (held && &weight == &weights[0]) continue;
      In(weight.tensor)->mutable_grad() = at::ones_like(In(weight.tensor)->detach());
    }
    plan::quiet::counts.during([&] {
      optimizer.clip();
      optimizer.step(t);
    });
  };
  update(0);  // makes the states
  update(1);
  CHECK(plan::quiet::counts.allocations.load() == 0);
  CHECK(plan::quiet::counts.locks.load() == 0);
  CHECK(plan::quiet::counts.ops.load() == 0);
}

}  // namespace

TEST_CASE("an update that kernels do takes no memory of the heap and no lock, and dispatches nothing") {
  if (optim::element_kernels() == nullptr) return;
  for (const char* rule : {"Adam", "AdamW", "Adamax", "Adadelta", "SGD", "Rprop", "Lion", "RMSprop", "Adagrad", "NAdam",
                           "RAdam", "Lamb", "Lars", "Adafactor"}) {
    expect_quiet(rule, {});
    expect_quiet(rule, {}, true);
  }
  expect_quiet("SGD", {{"momentum", 0.9, "float", {}}, {"nesterov", true, "bool", {}}});
}

}  // namespace ltr
