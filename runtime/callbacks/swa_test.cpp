#include "runtime/callbacks/swa.h"

#include <ATen/ATen.h>
#include <doctest/doctest.h>

#include "ltr/ops.h"
#include "runtime/optim/optimizer.h"
#include "runtime/tensor/handle.h"
#include "runtime/tensor/mode.h"
#include "runtime/tensor/norm_means.h"

namespace ltr {

namespace {

double first(const Tensor& tensor) { return In(tensor)->detach()[0].item<double>(); }

void set_all(const Tensor& tensor, double value) {
  const NoGrad no_grad;
  In(tensor)->fill_(value);
}

}  // namespace

TEST_CASE("the mean of all that was taken in, and rates on their way") {
  ModelRoot root(0);
  const Tensor w = root.scope().weight("w", give(at::zeros({2}, at::kDouble)), {});
  Optimizer& optimizer =
      *root.scope().optimizer("opt", Value::call("SGD", {{"lr", 0.4, "float", {}}}), {{"w", w}}, {}, {}, {});
  root.finish();
  Swa swa(Value::call("Swa", {{"lr", 0.1, "", {}},
                              {"anneal", Value::epochs(2), "", {}},
                              {"strategy", Value::symbol("linear"), "", {}}}),
          root.state());
  CHECK(!swa.has_begun());
  swa.begin(8, 80);
  for (const auto& [epoch, rate] : {std::pair(8, 0.4), std::pair(9, 0.25), std::pair(10, 0.1), std::pair(11, 0.1)}) {
    swa.set_rates(epoch, 10 * epoch);
    CHECK(optimizer.rate(10 * epoch) == doctest::Approx(rate));
  }
  for (const double value : {1.0, 2.0, 6.0}) {
    set_all(w, value);
    swa.take_in();
  }
  swa.averages().put_in_place();
  CHECK(first(w) == doctest::Approx(3));
  swa.averages().put_back();
  CHECK(first(w) == 6);

  CheckpointData saved;
  SaveArchive save(saved);
  swa.visit(save);
  Swa again(Value::call("Swa", {{"lr", 0.1, "", {}}}), root.state());
  LoadArchive load(saved);
  again.visit(load);
  set_all(w, 11);
  again.take_in();
  again.averages().put_in_place();
  CHECK(first(w) == doctest::Approx(5));
}

TEST_CASE("a cosine goes the same way, in steps too") {
  ModelRoot root(0);
  root.finish();
  Swa swa(Value::call("Swa", {{"lr", 0.1, "", {}}, {"anneal", Value::steps(4), "", {}}}), root.state());
  swa.begin(3, 30);
  CHECK(swa.way(3, 30) == 0);
  CHECK(swa.way(3, 32) == doctest::Approx(0.5));
  CHECK(swa.way(9, 99) == 1);
}

TEST_CASE("running values become plain means, and forget what was no number") {
  const Tensor mean = give(at::full({2}, NAN)), var = give(at::full({2}, 7.0F)),
               seen = give(at::full({}, 9, at::kLong));
  const ModeScope training(true, false);
  {
    NormMeans means;
    for (const float shift : {0.0F, 1.0F, 5.0F}) {
      const Tensor x = give(at::tensor({1.0F, 2.0F, 3.0F, 6.0F}).view({2, 2}) + shift);
      batch_norm(x, {}, {}, mean, var, seen, 0.1, 1e-5);
    }
    CHECK(means.buffers().size() == 3);
  }
  CHECK(at::allclose(In(mean), at::tensor({4.0F, 6.0F})));
  CHECK(at::allclose(In(var), at::tensor({2.0F, 8.0F})));
  CHECK(seen.item_int() == 3);
}

}  // namespace ltr
