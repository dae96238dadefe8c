#include "dsl/elaborate/planned.h"

#include <doctest/doctest.h>

namespace ltr::elaborate {

namespace {

using library::Id;

Operation operation(Id function, std::vector<int32_t> inputs, int64_t elements) {
  const library::Function& row = library::info(function);
  Operation one;
  one.function = function;
  one.inputs = std::move(inputs);
  one.output_elements = elements;
  one.flops = double(elements);
  one.is_product = row.cost.is_product();
  one.keeps_operands = row.keeps.what == library::Keeps::What::Operands || row.keeps.what == library::Keeps::What::Both;
  one.keeps_result = row.keeps.what == library::Keeps::What::Result || row.keeps.what == library::Keeps::What::Both;
  return one;
}

/// A linear layer of 100 numbers of weights, `middle`, another one of 10, and a loss.
Plan net(const std::vector<Id>& middle) {
  Plan plan;
  plan.batch = 4;
  plan.tree.weights = {{.path = "a", .element = check::Element::Float, .dims = {100}},
                       {.path = "b", .element = check::Element::Float, .dims = {10}}};
  plan.optimizers.push_back({.name = "opt", .weights = {0, 1}});
  plan.tape = {operation(Id::Linear, {}, 1000)};
  plan.tape[0].weights = {0};
  for (const Id function : middle) plan.tape.push_back(operation(function, {int32_t(plan.tape.size()) - 1}, 1000));
  plan.tape.push_back(operation(Id::Linear, {int32_t(plan.tape.size()) - 1}, 50));
  plan.tape.back().weights = {1};
  plan.tape.push_back(operation(Id::CrossEntropy, {int32_t(plan.tape.size()) - 1}, 1));
  plan.backwards.push_back(count_backward(plan.tape, int32_t(plan.tape.size()) - 1, {0, 1}));
  return plan;
}

PlannedStep planned(const Plan& plan) { return plan_step(plan, std::vector<std::string>(plan.tape.size())); }

}  // namespace

TEST_CASE("functions of elements in one pass keep nothing between them") {
  const PlannedStep one = planned(net({Id::Relu})), three = planned(net({Id::Exp, Id::StopGrad, Id::Relu}));
  CHECK(planned(net({Id::Relu, Id::Relu})).calls.size() == one.calls.size());
  CHECK(three.gradients == 0 + 10);  // Nothing goes back through `stop_grad`.
}

TEST_CASE("what a plan holds when there is most") {
  // On the way back through the second layer, which panels of its weights go in front of: what relu gave and its gradient, over which the
  // gradient of what it read is written, the gradient of the 50 numbers, the panels, and the first gradient of weights.
  const PlannedStep step = planned(net({Id::Relu}));
  CHECK(step.gradients == 110);
  CHECK(step.peak == 1000 + 1000 + 50 + 10 + 10);
}

TEST_CASE("functions of elements write over what they read for the last time") {
  // tanh keeps its result alone, so that its gradient lies where the gradient behind it lay: one value less than with a function that has
  // to keep what it read.
  const PlannedStep step = planned(net({Id::Tanh}));
  const PlannedStep other = planned(net({Id::Gelu}));
  CHECK(step.peak < other.peak);
}

TEST_CASE("a rehearsal keeps what the way back would want, and of the rest what is read next") {
  // The first layer's result goes behind relu, which keeps its own; the second layer keeps that, and the loss its scores.
  CHECK(planned(net({Id::Relu})).rehearsed == 1000 + 1000);
  CHECK(planned(net({Id::Relu, Id::StopGrad, Id::Relu})).rehearsed == 1000 + 1000 + 1000);
}

TEST_CASE("a convolution by tiles has fewer products, and what its tiles are made of") {
  Plan plan;
  plan.batch = 4;
  const int64_t places = 4 * 14 * 14;
  plan.tree.weights = {{.path = "w", .element = check::Element::Float, .dims = {32, 16, 3, 3}}};
  plan.tape = {operation(Id::Relu, {}, 16 * places), operation(Id::Conv2d, {0}, 32 * places)};
  plan.tape[1].weights = {0};
  plan.tape[1].flops = 2.0 * 9 * 16 * 32 * double(places);
  const auto convolution = [&] {
    for (const PlannedCall& call : planned(plan).calls) {
      if (call.flops > 0) return call;
    }
    return PlannedCall();
  };
  // 7 x 7 tiles of an image, with a line and a column behind them.
  const double tiles = 4 * 8 * 8;
  CHECK(convolution().flops == 2 * 16 * 16 * 32 * tiles);
  CHECK(convolution().operations == 16 * (16 + 32) * tiles);
  plan.tree.weights[0].dims = {32, 16, 1, 9};
  CHECK(convolution().flops == plan.tape[1].flops);
  CHECK(convolution().operations == 0);
}

TEST_CASE("gradients of tables") {
  Plan plan = net({Id::Relu});
  plan.tree.weights[0].dims = {100000};
  plan.tape[0].function = Id::Embedding;
  plan.tape[0].is_product = false;
  plan.optimizers[0].rule.kind = Value::Kind::Call;
  plan.optimizers[0].rule.text = "Adam";
  CHECK(planned(plan).gradients == 100010);
  plan.optimizers[0].rule.text = "SGD";
  CHECK(planned(plan).gradients == 1010);  // of the rows that were read
}

}  // namespace ltr::elaborate
