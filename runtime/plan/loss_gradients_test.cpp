// Every gradient rule of losses.

#include "runtime/plan/gradient_test.h"

namespace ltr::plan::gradient_test {

TEST_CASE("gradients of losses are autograd's") {
  const Tensor classes = whole({0, 2, 1, 2, 3}, {5}), places = whole({0, 2, 1, 2, 3, 0}, {2, 3});
  const auto weight = [] { return floats(at::linspace(0.5, 2, 4, at::kDouble)); };
  const std::vector<Given> scores = {{{5, 4}, -3, 3}}, maps = {{{2, 4, 3}, -3, 3}},
                           shares = {{{5, 4}, 0.1, 0.9}, {{5, 4}, 0.1, 0.9}}, two = {{{5, 4}, -3, 3}, {{5, 4}, -3, 3}};
  for (const char* by : {"mean", "sum"}) {
    for (const double smoothing : {0.0, 0.1}) {
      compare({"cross_entropy", scores,
               [=](const Tensors& x) { return cross_entropy(x[0], classes, {}, {}, smoothing, by); }});
      compare({"cross_entropy of some", scores,
               [=](const Tensors& x) { return cross_entropy(x[0], classes, weight(), 2, smoothing, by); }});
      compare({"cross_entropy of places", maps,
               [=](const Tensors& x) { return cross_entropy(x[0], places, {}, 2, smoothing, by); }});
    }
    compare({"nll", scores, [=](const Tensors& x) { return nll(log_softmax(x[0], 1), classes, weight(), 2, by); }});
    compare({"mse", two, [=](const Tensors& x) { return mse(x[0], x[1], by); }});
    compare({"l1", two, [=](const Tensors& x) { return l1(x[0], x[1], by); }});
    compare({"smooth_l1", two, [=](const Tensors& x) { return smooth_l1(x[0], x[1], 0.7, by); }});
    compare({"huber", two, [=](const Tensors& x) { return huber(x[0], x[1], 0.7, by); }});
    compare({"bce", shares, [=](const Tensors& x) { return bce(x[0], x[1], by); }});
    compare({"bce_with_logits", {{{5, 4}, -3, 3}, {{5, 4}, 0.1, 0.9}}, [=](const Tensors& x) {
               return bce_with_logits(x[0], x[1], {}, by);
             }});
    compare({"weighted", {{{5, 4}, -3, 3}, {{5, 4}, 0.1, 0.9}}, [=](const Tensors& x) {
               return bce_with_logits(x[0], x[1], weight(), by);
             }});
    compare({"poisson_nll", two, [=](const Tensors& x) { return poisson_nll(x[0], x[1], by); }});
    compare({"gaussian_nll", {{{5, 4}}, {{5, 4}}, {{5, 1}, 0.1, 2}}, [=](const Tensors& x) {
               return gaussian_nll(x[0], x[1], x[2], 1e-6, by);
             }});
  }
  for (const char* by : {"mean", "sum", "batchmean"})
    compare({"kl_div", shares, [=](const Tensors& x) { return kl_div(log(x[0]), x[1], by); }});
}

}  // namespace ltr::plan::gradient_test
