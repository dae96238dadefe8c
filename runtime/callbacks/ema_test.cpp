#include "runtime/callbacks/ema.h"

#include <doctest/doctest.h>

#include <ATen/ATen.h>

#include "runtime/callbacks/grad_norm.h"
#include "runtime/tensor/handle.h"

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
  Ema ema(Value::call("Ema", {{"decay", 0.9, "", {}}, {"every", Value::steps(2), "", {}}, {"start", Value::steps(3), "", {}}}),
          root.state(), kSteps);
  ema.take_in(2);
  CHECK(ema.updates() == 0);
  ema.take_in(4);
  set(w, 2);
  set(count, 7);
  ema.take_in(5);
  ema.take_in(6);
  CHECK(ema.updates() == 2);
  const at::Tensor before = In(w)->detach().clone();
  ema.put_in_place();
  CHECK(at::allclose(In(w)->detach(), at::full({3}, 1.1), 1e-6, 1e-6));
  CHECK(count.item_int() == 7);
  ema.put_back();
  CHECK(at::equal(In(w)->detach(), before));

  CheckpointData saved;
  SaveArchive save(saved);
  ema.visit(save);
  CHECK(saved.train.at(0).name == "ema.w");
  Ema again(Value::call("Ema", {{"decay", 0.9, "", {}}}), root.state(), kSteps);
  LoadArchive load(saved);
  again.visit(load);
  CHECK(again.updates() == ema.updates());
  again.put_in_place();
  CHECK(at::allclose(In(w)->detach(), at::full({3}, 1.1), 1e-6, 1e-6));
}

TEST_CASE("ramp begins with a small decay") {
  ModelRoot root(0);
  const Tensor w = root.scope().weight("w", give(at::zeros({1}, at::kDouble)), {});
  root.finish();
  Ema ema(Value::call("Ema", {{"ramp", true, "", {}}}), root.state(), kSteps);
  ema.take_in(1);
  set(w, 1);
  ema.take_in(2);
  ema.put_in_place();
  CHECK(w.item() == doctest::Approx(1 - 2.0 / 11));
}

TEST_CASE("gradient norms in all, by block and by weight") {
  ModelRoot root(0);
  const Tensor a = root.scope().child("fc").weight("weight", give(at::zeros({2})), {});
  const Tensor b = root.scope().child("fc").weight("bias", give(at::zeros({1})), {});
  const Tensor c = root.scope().child("out").weight("weight", give(at::zeros({1})), {});
  const Value rule = Value::call("SGD", {{"lr", 0.1, "", {}}});
  Optimizer* optimizer = root.scope().optimizer("opt", rule, root.scope().weights(), {}, {}, {});
  root.finish();
  {
    const NoGrad no_grad;
    In(a)->mutable_grad() = at::tensor({3.0F, 0.0F});
    In(b)->mutable_grad() = at::tensor({4.0F});
    In(c)->mutable_grad() = at::tensor({12.0F});
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
  CHECK(measured("total", 2).at(0) == std::pair<Str, double>("grad_norm/opt", 13));
  CHECK(measured("total", 1).at(0) == std::pair<Str, double>("grad_norm_1/opt", 19));
  CHECK(measured("block", 2).at(0) == std::pair<Str, double>("grad_norm/opt/fc", 5));
  CHECK(measured("block", 2).at(1) == std::pair<Str, double>("grad_norm/opt/out", 12));
  CHECK(measured("weight", 2).at(1) == std::pair<Str, double>("grad_norm/opt/fc.bias", 4));
}

}  // namespace ltr
