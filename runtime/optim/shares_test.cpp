// Weights of one group that move by shares of its rate, or not at all.

#include <ATen/ATen.h>
#include <doctest/doctest.h>

#include "runtime/optim/optimizer.h"
#include "runtime/tensor/handle.h"
#include "runtime/train/root_state.h"

namespace ltr {

namespace {

/// Two weights, each with an optimizer of its own or both with one.
struct Pair {
  Pair(const char* rule, std::vector<double> rates) {
    for (const char* name : {"a", "b"})
      weights.push_back({name, root.scope().weight(name, give(at::linspace(-1, 2, 64).view({8, 8})), {})});
    for (size_t i = 0; i < rates.size(); i++) {
      const Weights own = rates.size() == 1 ? weights : Weights{weights[i]};
      optimizers.push_back(root.scope().optimizer(i == 0 ? "first" : "second",
                                                  Value::call(rule, {{"lr", rates[i], "float", {}}}), own, {}, {}, {}));
    }
    root.finish();
  }
  /// Update `t`, in which `b` has no gradient if it is `held`.
  void step(int64_t t, bool held) {
    for (size_t i = 0; i < weights.size(); i++) {
      if (i == 1 && held) continue;
      In(weights[i].tensor)->mutable_grad() = at::sin(at::arange(64, at::kFloat) * double(t + 1)).view({8, 8});
    }
    const NoGrad no_grad;
    for (Optimizer* optimizer : optimizers) optimizer->step(t);
  }
  bool equals(const Pair& other) const {
    for (size_t i = 0; i < weights.size(); i++) {
      if (!at::equal(In(weights[i].tensor)->detach(), In(other.weights[i].tensor)->detach())) return false;
    }
    return true;
  }

  ModelRoot root{0};
  Weights weights;
  std::vector<Optimizer*> optimizers;
};

}  // namespace

TEST_CASE("a share of the rate is a rate of its own, by every rule, and what is held has no state") {
  for (const char* rule : {"SGD", "Adam", "AdamW", "NAdam", "RAdam", "Adamax", "Adagrad", "Adadelta", "RMSprop", "Lion",
                           "Lamb", "Lars", "Muon", "Adafactor"}) {
    CAPTURE(Str(rule));
    Pair one(rule, {0.02}), two(rule, {0.02, 0.005});
    one.optimizers[0]->set_share(In(one.weights[1].tensor), 0.25);
    const at::Tensor before = In(one.weights[1].tensor)->detach().clone();
    for (const int64_t t : {0, 1}) {
      one.step(t, true);
      two.step(t, true);
    }
    CHECK(at::equal(In(one.weights[1].tensor)->detach(), before));
    for (const int64_t t : {2, 3, 4}) {
      one.step(t, false);
      two.step(t, false);
    }
    CHECK(one.equals(two));
    // The whole rate again: all of the group moves together.
    one.optimizers[0]->set_share(In(one.weights[1].tensor), 1);
    two.optimizers[1]->set_rate(0.02);
    one.step(5, false);
    two.step(5, false);
    CHECK(one.equals(two));
  }
}

TEST_CASE("rates of groups stand in for schedules until a rate is set") {
  Pair pair("SGD", {0.1});
  Optimizer& optimizer = *pair.optimizers[0];
  optimizer.set_group_rates({0.05});
  CHECK(optimizer.rate(3) == 0.05);
  optimizer.set_rate(0.2);
  CHECK(optimizer.rate(3) == 0.2);
}

}  // namespace ltr
