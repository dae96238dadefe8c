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
    // Rows that fill vectors, and more of those that do not than there are lanes.
    for (const int64_t count : {4, 40}) {
      const Tensor of_rows = give(at::arange(21).remainder(count));
      const std::vector<Given> rows = {{{21, count}, -3, 3}};
      compare({"cross_entropy of rows", rows,
               [=](const Tensors& x) { return cross_entropy(x[0], of_rows, {}, {}, 0, by); }});
      compare({"cross_entropy of some rows", rows, [=](const Tensors& x) {
                 return cross_entropy(x[0], of_rows, floats(at::linspace(0.5, 2, count, at::kDouble)), 2, 0.1, by);
               }});
    }
    // As rows that lie across, as one row, and of planes that fill lanes and do not.
    compare({"cross_entropy of words", {{{2, 3, 4}, -3, 3}}, [=](const Tensors& x) {
               return cross_entropy(transpose(x[0], 1, 2), places, weight(), 2, 0.1, by);
             }});
    compare({"cross_entropy of one", {{{4}, -3, 3}}, [=](const Tensors& x) {
               return cross_entropy(x[0], whole({3}, {}), weight(), {}, 0.1, by);
             }});
    for (const Ints& sizes : std::vector<Ints>{{3, 4, 5, 7}, {6, 4, 4, 8}, {2, 4, 1, 1}, {1, 4, 9, 5}}) {
      const Tensor of_pixels =
          give(at::arange(sizes[0] * sizes[2] * sizes[3]).remainder(4).reshape({sizes[0], sizes[2], sizes[3]}));
      const std::vector<Given> images = {{sizes, -3, 3}};
      for (const double smoothing : {0.0, 0.1}) {
        compare({"cross_entropy of pixels", images,
                 [=](const Tensors& x) { return cross_entropy(x[0], of_pixels, {}, {}, smoothing, by); }});
        compare({"cross_entropy of some pixels", images,
                 [=](const Tensors& x) { return cross_entropy(x[0], of_pixels, {}, 1, smoothing, by); }});
        compare({"cross_entropy of pixels with weights", images,
                 [=](const Tensors& x) { return cross_entropy(x[0], of_pixels, weight(), 3, smoothing, by); }});
      }
      compare({"nll of pixels", images, [=](const Tensors& x) {
                 return add(nll(log_softmax(x[0], 1), of_pixels, weight(), 2, by), nll(x[0], of_pixels, {}, {}, by));
               }});
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
    compare({"weighted, of each", {{{5, 4}, -3, 3}, {{5, 4}, 0.1, 0.9}}, [=](const Tensors& x) {
               return square(bce_with_logits(x[0], x[1], weight(), "none"));
             }});
    compare({"poisson_nll", two, [=](const Tensors& x) { return poisson_nll(x[0], x[1], by); }});
    compare({"gaussian_nll", {{{5, 4}}, {{5, 4}}, {{5, 1}, 0.1, 2}}, [=](const Tensors& x) {
               return gaussian_nll(x[0], x[1], x[2], 1e-6, by);
             }});
  }
  for (const char* by : {"mean", "sum", "batchmean"})
    compare({"kl_div", shares, [=](const Tensors& x) { return kl_div(log(x[0]), x[1], by); }});
}

TEST_CASE("gradients of losses against probabilities are autograd's") {
  for (const char* by : {"mean", "sum"}) {
    for (const double smoothing : {0.0, 0.1}) {
      for (const Ints& sizes : std::vector<Ints>{{5, 4}, {2, 4, 3}, {4}, {1, 1}}) {
        const std::vector<Given> given = {
            {sizes, -3, 3}, {sizes, 0, 1}, {{sizes.size() == 1 ? sizes[0] : sizes[1]}, 0.5, 2}};
        compare({"soft_cross_entropy", {given.begin(), given.begin() + 2}, [=](const Tensors& x) {
                   return soft_cross_entropy(x[0], x[1], {}, smoothing, by);
                 }});
        compare({"soft_cross_entropy of classes with weights", given,
                 [=](const Tensors& x) { return soft_cross_entropy(x[0], x[1], x[2], smoothing, by); }});
      }
    }
    for (const double gamma : {0.0, 0.5, 1.0, 2.0}) {
      compare({"focal", {{{5, 4}, -3, 3}}, [=](const Tensors& x) {
                 return focal(x[0], whole({0, 2, 1, 2, 3}, {5}), gamma, by);
               }});
      compare({"focal of places", {{{2, 3, 2}, -3, 3}}, [=](const Tensors& x) {
                 return focal(x[0], whole({0, 2, 1, 2}, {2, 2}), gamma, by);
               }});
      // What is certain: 1 - p is 0, and its power has no slope there or an infinite one.
      compare({"focal of one class", {{{2, 1}}}, [=](const Tensors& x) {
                 return focal(x[0], whole({0, 0}, {2}), gamma, by);
               }});
      compare({"focal of certain ones", {{{2, 3}}}, [=](const Tensors& x) {
                 return focal(valued(x[0], at::tensor({200., 0., 0., 0., 200., 0.}).reshape({2, 3})),
                              whole({0, 0}, {2}), gamma, by);
               }});
    }
  }
  for (const double smooth : {0.0, 1.0}) {
    for (const Ints& sizes : std::vector<Ints>{{5, 4}, {1, 4}, {3, 1}})
      compare(
          {"dice", {{sizes, 0.1, 0.9}, {sizes, 0.1, 0.9}}, [=](const Tensors& x) { return dice(x[0], x[1], smooth); }});
    compare({"dice of nothing and of all", {{{3, 2}}, {{3, 2}}}, [=](const Tensors& x) {
               return dice(valued(x[0], at::tensor({0., 0., 1., 1., 0., 1.}).reshape({3, 2})),
                           valued(x[1], at::tensor({0., 0., 1., 1., 1., 0.}).reshape({3, 2})), smooth);
             }});
  }
}

TEST_CASE("gradients of losses of pairs are autograd's") {
  const at::Tensor signs = at::tensor({1., -1., -1., 1., 0.});
  for (const char* by : {"mean", "sum"}) {
    for (const double margin : {1.0, 0.0, -0.5}) {
      compare({"hinge", {{{5, 4}, -2, 2}}, [=](const Tensors& x) {
                 return hinge(x[0], floats(signs.unsqueeze(1).expand({5, 4})), margin, by);
               }});
      // At the margin, and beside it.
      compare({"hinge at its margin", {{{5, 3}}}, [=](const Tensors& x) {
                 const at::Tensor near = at::tensor({margin, margin + 0.5, margin - 0.5}).expand({5, 3});
                 return hinge(valued(x[0], near), floats(signs.unsqueeze(1).expand({5, 3})), margin, by);
               }});
      compare({"hinge with a target that has a gradient", {{{5}}, {{5}}}, [=](const Tensors& x) {
                 return mul(hinge(x[0], valued(x[1], signs), margin, by), sum(x[1], {}, false));
               }});
      compare({"triplet_margin", {{{5, 4}}, {{5, 4}}, {{5, 4}}}, [=](const Tensors& x) {
                 return triplet_margin(x[0], x[1], x[2], margin, by);
               }});
      compare({"triplet_margin of equal ones", {{{3, 2}}, {{3, 2}}}, [=](const Tensors& x) {
                 return add(triplet_margin(x[0], x[1], x[1], margin, by), triplet_margin(x[0], x[0], x[1], margin, by));
               }});
      // The 1e-6 that is added makes this length 0.
      compare({"triplet_margin of no distance", {{{2, 1}}, {{2, 1}}}, [=](const Tensors& x) {
                 const Tensor anchor = valued(x[0], at::zeros({2, 1}));
                 return triplet_margin(anchor, valued(x[1], at::full({2, 1}, 1e-6, at::kDouble)), anchor, margin, by);
               }});
    }
    for (const double margin : {0.0, 0.3, -1.0}) {
      compare({"cosine_embedding", {{{5, 4}}, {{5, 4}}}, [=](const Tensors& x) {
                 return cosine_embedding(x[0], x[1], floats(signs), margin, by);
               }});
      compare(
          {"cosine_embedding with a target that has a gradient", {{{5, 4}}, {{5, 4}}, {{5}}}, [=](const Tensors& x) {
             return mul(cosine_embedding(x[0], x[1], valued(x[2], signs), margin, by), sum(x[2], {}, false));
           }});
      // Rows of zeros, at right angles, the same and opposite.
      compare({"cosine_embedding of special rows", {{{5, 2}}, {{5, 2}}}, [=](const Tensors& x) {
                 return cosine_embedding(
                     valued(x[0], at::tensor({0., 0., 1., 0., 2., 0., 3., 0., 0., 0.}).reshape({5, 2})),
                     valued(x[1], at::tensor({0.5, 1., 0., 1., 1., 0., -2., 0., 0., 0.}).reshape({5, 2})),
                     floats(at::tensor({1., -1., -1., 1., -1.})), margin, by);
               }});
    }
  }
  for (const double temperature : {0.5, 2.0}) {
    for (const Ints& sizes : std::vector<Ints>{{5, 4}, {1, 3}, {3, 1}})
      compare(
          {"contrastive", {{sizes}, {sizes}}, [=](const Tensors& x) { return contrastive(x[0], x[1], temperature); }});
    compare(
        {"contrastive of itself", {{{4, 3}}}, [=](const Tensors& x) { return contrastive(x[0], x[0], temperature); }});
    compare({"contrastive of hardly anything", {{{3, 2}}, {{3, 2}}}, [=](const Tensors& x) {
               const at::Tensor rows = at::tensor({0., 0., 1e-14, 1e-13, 3., 4.}, at::kDouble).reshape({3, 2});
               return contrastive(valued(x[0], rows), x[1], temperature);
             }});
  }
}

TEST_CASE("gradients of sequences without places are autograd's") {
  const auto check = [](const Str& title, int64_t steps, const Tensor& targets, const Tensor& lengths,
                        const Tensor& widths, int64_t blank) {
    const int64_t samples = In(lengths)->size(0);
    for (const bool zero : {false, true}) {
      compare({title, {{{steps, samples, 4}, -2, 2}}, [=](const Tensors& x) {
                 return ctc_each(log_softmax(x[0], 2), targets, lengths, widths, blank, zero);
               }});
      compare({title, {{{steps, samples, 4}, -2, -0.5}}, [=](const Tensors& x) {
                 return square(ctc_each(x[0], targets, lengths, widths, blank, zero));
               }});
    }
  };
  check("ctc", 6, whole({1, 2, 3, 2, 2, 1}, {2, 3}), whole({6, 6}, {2}), whole({3, 3}, {2}), 0);
  check("ctc of any lengths", 6, whole({1, 2, 0, 2, 2, 1, 0, 0, 0}, {3, 3}), whole({6, 5, 3}, {3}),
        whole({2, 3, 1}, {3}), 3);
  check("ctc of one step", 1, whole({2}, {1, 1}), whole({1}, {1}), whole({1}, {1}), 0);
  check("ctc of an empty target", 4, whole({1, 2, 1, 1}, {2, 2}), whole({4, 3}, {2}), whole({0, 2}, {2}), 0);
  // Two equal labels need a blank between them: the second sample cannot be.
  check("ctc of what cannot be", 3, whole({1, 2, 1, 1}, {2, 2}), whole({3, 2}, {2}), whole({2, 2}, {2}), 0);
}

}  // namespace ltr::plan::gradient_test
