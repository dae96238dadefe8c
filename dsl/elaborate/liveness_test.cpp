#include "dsl/elaborate/liveness.h"

#include <doctest/doctest.h>

namespace ltr::elaborate {

namespace {

Operation operation(std::vector<int32_t> inputs, int64_t elements) {
  Operation one;
  one.inputs = std::move(inputs);
  one.output_elements = elements;
  one.flops = double(elements);
  one.keeps_operands = true;
  return one;
}

/// A chain of three functions a, b and c of 100 numbers and a loss of one, all of which the loss goes back through.
Plan chain() {
  Plan plan;
  plan.tree.weights.push_back({.path = "w", .element = check::Element::Float, .dims = {50}});
  plan.tape = {operation({}, 100), operation({0}, 100), operation({1}, 100), operation({2}, 1)};
  plan.tape[0].weights = {0};
  plan.backwards.push_back(count_backward(plan.tape, 3, {0}));
  return plan;
}

const std::vector<std::string> kNone = {"", "", "", ""};

}  // namespace

TEST_CASE("results are there until nothing reads them") {
  Plan plan = chain();
  // In the forward pass all three and the loss; in the backward pass the gradient of c comes beside them, that of the loss goes.
  CHECK(find_peak(plan, kNone, false, 1).results == 401 + 0);
  // What keeps its result instead lets go of what it read: a and c are gone when the next is made.
  for (Operation& one : plan.tape) one.keeps_operands = false;
  plan.tape[1].keeps_result = true;
  CHECK(find_peak(plan, kNone, false, 1).results == 300);
  // Masks are its own.
  plan.tape[1].keeps_elements = 70;
  CHECK(find_peak(plan, kNone, false, 1).results == 370);
}

TEST_CASE("gradients of weights come while results go") {
  const Plan plan = chain();
  const Peak peak = find_peak(plan, kNone, false, 1);
  // The first operation has the weight: by then only its gradient is left.
  CHECK(peak.with_gradients == peak.results);
  CHECK(find_peak(plan, kNone, false, 100).with_gradients == 5100);
}

TEST_CASE("views are no memory, and a step without a backward pass keeps nothing") {
  Plan plan = chain();
  plan.tape[1].is_view = true;
  CHECK(find_peak(plan, kNone, false, 1).results < 401);
  plan.backwards.clear();
  CHECK(find_peak(plan, kNone, false, 1).results == 200);
}

TEST_CASE("products on a core hold some of it twice") {
  Plan plan = chain();
  plan.tape[1].is_product = true;
  plan.tape[1].input_elements = 100;
  const double turned = find_peak(plan, kNone, true, 1).results;
  plan.tape[1].is_reordered = true;
  CHECK(find_peak(plan, kNone, true, 1).results == turned + 100);
  CHECK(find_peak(plan, kNone, false, 1).results == 401);
}

TEST_CASE("a block that is computed again keeps what came into it") {
  const Plan plan = chain();
  CHECK(find_peak(plan, {"", "block", "block", ""}, false, 1).results <= 401);
}

}  // namespace ltr::elaborate
