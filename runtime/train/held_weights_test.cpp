#undef LTR_RUNTIME  // Functions as programs call them.

#include "runtime/train/held_weights.h"

#include <ATen/ATen.h>
#include <doctest/doctest.h>

#include "runtime/tensor/handle.h"
#include "runtime/tensor/mode.h"
#include "runtime/train/fake_program.h"
#include "runtime/train/trainer.h"

namespace ltr {

namespace {

Value frozen(const char* what, int64_t epoch, std::vector<Argument> more = {}) {
  std::vector<Argument> all = {{"what", Value(Str(what)), "", {}}, {"epoch", epoch, "", {}}};
  all.insert(all.end(), more.begin(), more.end());
  return Value::call("FreezeUntil", std::move(all));
}

Str names_that_train(const fake::Run& run) {
  Str names;
  for (const Entry& entry : run.root.weights()) {
    if (In(entry.tensor)->requires_grad()) names += (names.empty() ? "" : " ") + entry.path;
  }
  return names;
}

Str refusal(std::vector<Value> callbacks) {
  fake::Run run;
  run.callbacks = std::move(callbacks);
  const RunRequest request = run.request();
  try {
    const HeldWeights held(request);
  } catch (const Error& error) {
    return error.message;
  }
  return "";
}

}  // namespace

TEST_CASE("weights are held until their epoch, then move by a share of the rate") {
  fake::Run run;
  run.callbacks = {frozen("net", 2, {{"except", Value(Str("net.fc3")), "", {}}, {"lr_ratio", 0.25, "", {}}})};
  const RunRequest request = run.request();
  {
    HeldWeights held(request);
    CHECK(names_that_train(run) ==
          "net.fc1.weight net.fc1.bias net.fc2.weight net.fc2.bias net.fc3.weight net.fc3.bias");
    CHECK(held.apply(0));
    CHECK(names_that_train(run) == "net.fc3.weight net.fc3.bias");
    CHECK(!held.apply(1));
    CHECK(held.released_in(1) == "");
    CHECK(held.apply(2));
    CHECK(held.released_in(2) == "net trains by 0.25 of its rate");
    CHECK(names_that_train(run).find("net.fc1.weight") == 0);
    held.apply(0);
  }
  // Whoever held them is gone.
  CHECK(names_that_train(run).find("net.fc1.weight") == 0);
}

TEST_CASE("what cannot be held is refused") {
  CHECK(refusal({frozen("fc1", 1)}) == "");  // from what the optimizer was given on
  CHECK(refusal({frozen("*.bias", 1)}) == "");
  CHECK(refusal({frozen("nets", 1)}) == "FreezeUntil: \"nets\" holds no weight");
  CHECK(refusal({frozen("net.fc", 1)}) == "FreezeUntil: \"net.fc\" holds no weight");
  CHECK(refusal({frozen("net.fc1", 1, {{"except", Value(Str("net.fc2")), "", {}}})}) ==
        "FreezeUntil: except = \"net.fc2\" takes no weight of \"net.fc1\"");
  CHECK(refusal({frozen("net", 1)}) == "every weight is held in the first epoch: nothing would train");
  CHECK(refusal({frozen("net", 0)}) == "");
  CHECK(refusal({frozen("net.fc1", 1), frozen("*.bias", 2)}) ==
        "two callbacks hold net.fc1.bias: by \"net.fc1\" and by \"*.bias\"");
}

TEST_CASE("norms that rest are in evaluation while others train") {
  const Tensor mean = give(at::zeros({2}));
  CHECK(!rests(mean.impl()));
  let_rest({mean.impl()});
  CHECK(rests(mean.impl()));
  const Tensor x = give(at::tensor({1.0F, 2.0F, 3.0F, 4.0F}).view({2, 2})), other = give(at::zeros({2}));
  const Tensor var = give(at::ones({2})), seen = give(at::zeros({}, at::kLong));
  const ModeScope training(true, false);
  const Tensor rested = batch_norm(x, {}, {}, mean, var, seen, 0.5, 0);
  const Tensor trained = batch_norm(x, {}, {}, other, var, seen, 0.5, 0);
  let_rest({});
  CHECK(at::equal(In(rested), In(x)));
  CHECK(In(mean)->sum().item<float>() == 0);
  CHECK(seen.item_int() == 1);
  CHECK(at::equal(In(other), at::tensor({1.0F, 1.5F})));
  CHECK(is_training());
}

}  // namespace ltr
