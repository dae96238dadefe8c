#include "runtime/callbacks/ema.h"

#include <doctest/doctest.h>

#include <ATen/ATen.h>

#include <algorithm>

#include "runtime/callbacks/grad_norm.h"
#include "runtime/optim/element_kernels.h"
#include "runtime/plan/cpu/quiet_counts.h"
#include "runtime/tensor/fake_accelerator.h"
#include "runtime/tensor/handle.h"
#include "runtime/tensor/host_read.h"

namespace ltr {

namespace {

const auto kSteps = [](double epochs) { return int64_t(epochs * 10); };

void set(const Tensor& tensor, double value) {
  const NoGrad no_grad;
  In(tensor)->fill_(value);
}

}  // namespace

TEST_CASE("an average follows its formula, stands in for the weights, and gives them back") {
  ModelRoot root(0);
  const Tensor w = root.scope().weight("w", give(at::ones({3})), {});
  const Tensor count = root.scope().buffer("count", give(at::zeros({}, at::kLong)), {});
  root.finish();
  Ema ema(Value::call("Ema",
                      {{"decay", 0.9, "", {}}, {"every", Value::steps(2), "", {}}, {"start", Value::steps(3), "", {}}}),
          root.state(), kSteps);
  ema.take_in(2);
  CHECK(ema.averages().updates() == 0);
  ema.take_in(4);
  set(w, 2);
  set(count, 7);
  ema.take_in(5);
  ema.take_in(6);
  CHECK(ema.averages().updates() == 2);
  const at::Tensor before = In(w)->detach().clone();
  ema.averages().put_in_place();
  CHECK(at::allclose(In(w)->detach(), at::full({3}, 1.1), 1e-6, 1e-6));
  CHECK(count.item_int() == 7);
  ema.averages().put_back();
  CHECK(at::equal(In(w)->detach(), before));

  CheckpointData saved;
  SaveArchive save(saved);
  ema.averages().visit(save);
  CHECK(saved.train.at(0).name == "ema.w");
  Ema again(Value::call("Ema", {{"decay", 0.9, "", {}}}), root.state(), kSteps);
  LoadArchive load(saved);
  again.averages().visit(load);
  CHECK(again.averages().updates() == ema.averages().updates());
  again.averages().put_in_place();
  CHECK(at::allclose(In(w)->detach(), at::full({3}, 1.1), 1e-6, 1e-6));
}

TEST_CASE("an average takes a step in without memory of the heap, locks or ops, and is what LibTorch makes of it") {
  if (optim::element_kernels() == nullptr) return;
  ModelRoot root(0);
  // The first one is worth several threads.
  const Tensor w = root.scope().weight("w", give(at::linspace(-3, 2, 100'000)), {});
  const Tensor b = root.scope().weight("b", give(at::linspace(-1, 1, 5)), {});
  const Tensor mean = root.scope().buffer("mean", give(at::ones({3})), {});
  const Tensor count = root.scope().buffer("count", give(at::zeros({}, at::kLong)), {});
  root.finish();
  Ema ema(Value::call("Ema", {{"decay", 0.9, "", {}}}), root.state(), kSteps);
  ema.take_in(1);
  const at::Tensor wanted = In(w)->detach().clone();
  {
    const NoGrad no_grad;
    In(w)->mul_(1.7);
  }
  set(mean, 4);
  wanted.lerp_(In(w)->detach(), 1 - 0.9);
  plan::quiet::counts.during([&] { ema.take_in(2); });
  CHECK(plan::quiet::counts.allocations.load() == 0);
  CHECK(plan::quiet::counts.locks.load() == 0);
  CHECK(plan::quiet::counts.ops.load() == 0);
  ema.averages().put_in_place();
  CHECK(at::equal(In(w)->detach().view(at::kInt), wanted.view(at::kInt)));
  CHECK(at::allclose(In(mean)->detach(), at::full({3}, 1.3F)));
}

TEST_CASE("ramp begins with a small decay") {
  ModelRoot root(0);
  const Tensor w = root.scope().weight("w", give(at::zeros({1}, at::kDouble)), {});
  root.finish();
  Ema ema(Value::call("Ema", {{"ramp", true, "", {}}}), root.state(), kSteps);
  ema.take_in(1);
  set(w, 1);
  ema.take_in(2);
  ema.averages().put_in_place();
  CHECK(w.item() == doctest::Approx(1 - 2.0 / 11));
}

TEST_CASE("gradient norms in all, by block and by weight") {
  ModelRoot root(0);
  const Tensor a = root.scope().child("fc").weight("weight", give(at::zeros({2})), {});
  const Tensor b = root.scope().child("fc").weight("bias", give(at::zeros({1})), {});
  const Tensor c = root.scope().child("out").weight("weight", give(at::zeros({1})), {});
  const Tensor d = root.scope().weight("scale", give(at::zeros({1})), {});
  const Value rule = Value::call("SGD", {{"lr", 0.1, "", {}}});
  // From the blocks on two of them have one name.
  Weights weights = root.scope().child("fc").weights();
  for (const Scope& scope : {root.scope().child("out"), root.scope()}) {
    for (const Weight& weight : scope.weights()) {
      const bool is_there =
          std::ranges::any_of(weights, [&](const Weight& one) { return one.tensor.impl() == weight.tensor.impl(); });
      if (!is_there) weights.push_back(weight);
    }
  }
  Optimizer* optimizer = root.scope().optimizer("opt", rule, weights, {{"clip_norm", 1.0, "float", {}}}, {}, {});
  root.finish();
  {
    const NoGrad no_grad;
    In(a)->mutable_grad() = at::tensor({3.0F, 0.0F});
    In(b)->mutable_grad() = at::tensor({4.0F});
    In(c)->mutable_grad() = at::tensor({12.0F});
    In(d)->mutable_grad() = at::tensor({84.0F});
  }
  const auto measured = [&](const char* per, double p) {
    const GradNorm norm(Value::call("GradNorm", {{"per", Value::symbol(per), "", {}}, {"p", p, "", {}}}));
    Named values;
    norm.measure(*optimizer, values);
    std::vector<Str> names;
    for (const auto& [name, value] : values) names.push_back(name);
    CHECK(names == norm.names(*optimizer));
    return values;
  };
  CHECK(measured("total", 2) == Named{{"grad_norm/opt", 85}});
  CHECK(measured("total", 1) == Named{{"grad_norm_1/opt", 103}});
  CHECK(measured("block", 2) == Named{{"grad_norm/opt/fc", 5}, {"grad_norm/opt/out", 12}, {"grad_norm/opt/model", 84}});
  const Named per_weight = measured("weight", 2);
  CHECK(per_weight == Named{{"grad_norm/opt/fc.weight", 3},
                            {"grad_norm/opt/fc.bias", 4},
                            {"grad_norm/opt/out.weight", 12},
                            {"grad_norm/opt/scale", 84}});
  const fake::OnFakeDevice there;
  const int64_t before = host_reads();
  CHECK(measured("weight", 2) == per_weight);
  CHECK(host_reads() == before + 1);
}

}  // namespace ltr
