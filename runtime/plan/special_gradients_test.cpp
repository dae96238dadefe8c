// Gradient rules where a function has no slope, or several: at kinks and bounds, of equal ones, of zeros, of vectors and of nothing.

#include "runtime/plan/gradient_test.h"

namespace ltr::plan::gradient_test {

namespace {

/// `function` of exactly these numbers.
void compare_at(const Str& title, const at::Tensor& numbers, const std::function<Tensor(const Tensor&)>& function) {
  compare({title, {{numbers.sizes().vec()}}, [&](const Tensors& x) { return function(valued(x[0], numbers)); }});
}
void compare_at(const Str& title, const at::Tensor& a, const at::Tensor& b,
                const std::function<Tensor(const Tensor&, const Tensor&)>& function) {
  compare({title, {{a.sizes().vec()}, {b.sizes().vec()}}, [&](const Tensors& x) {
             return function(valued(x[0], a), valued(x[1], b));
           }});
}

const double kInfinity = std::numeric_limits<double>::infinity();

}  // namespace

TEST_CASE("gradients at kinks and bounds are autograd's") {
  const at::Tensor bends = at::tensor({-6., -3., -1., -0., 0., 1., 3., 6., 25., -25.});
  using Function = Tensor (*)(const Tensor&);
  for (const Function function :
       {Function(relu), Function(relu6), Function(silu), Function(mish), Function(selu), Function(hardswish),
        Function(logsigmoid), Function(abs), Function(sign), Function(tanh), Function(sigmoid), Function(erf)})
    compare_at("function", bends, [function](const Tensor& x) { return function(x); });
  compare_at("elu", bends, [](const Tensor& x) { return elu(x, 0.3); });
  compare_at("leaky_relu", bends, [](const Tensor& x) { return leaky_relu(x, 0.2); });
  compare_at("prelu", bends, [](const Tensor& x) { return prelu(x, floats(at::tensor({0.25}))); });
  compare_at("softplus", bends, [](const Tensor& x) { return softplus(x, 2.0); });
  compare_at("clamp", bends, [](const Tensor& x) { return add(clamp(x, -3, 3), clamp(x, {}, 0)); });
  compare_at("maximum_number", bends, [](const Tensor& x) { return maximum(minimum(x, Scalar(3)), Scalar(-1.0)); });
  for (const double power : {0.0, 0.5, 1.0, 2.0, -1.0}) {
    const at::Tensor bases = at::tensor({0., 0.5, 1., 2.});
    compare_at("pow_number", bases, [=](const Tensor& x) { return pow(x, Scalar(power)); });
    if (power >= 0) compare_at("number_pow", bases, [=](const Tensor& x) { return pow(Scalar(power), x); });
  }
  const at::Tensor a = at::tensor({0., 0., 0., 0., 1., 1., 2., -2., 3.}),
                   b = at::tensor({0., 1., -1., 2., 0., 1., 2., 2., 0.5});
  compare_at("pow", a, b, [](const Tensor& x, const Tensor& y) { return pow(x, y); });
  compare_at("extremes of two", a, b,
             [](const Tensor& x, const Tensor& y) { return add(maximum(x, y), minimum(x, y)); });
  // 1 / 0.1 is 10, and holds 0.1 nine times.
  compare_at("remainder", at::tensor({1.0, 1.0, -2.4}), at::tensor({0.1, -0.1, 0.3}),
             [](const Tensor& x, const Tensor& y) { return add(remainder(x, y), remainder(Scalar(1), y)); });
}

TEST_CASE("gradients of equal ones and of zeros are autograd's") {
  const at::Tensor ties = at::tensor({1., 1., 0., 0., 0., 0., 2., 1., 2.}).reshape({3, 3});
  for (const Option<int64_t> dim : {Option<int64_t>(), Option<int64_t>(0), Option<int64_t>(1)}) {
    compare_at("max", ties, [=](const Tensor& x) { return max(x, dim, false); });
    compare_at("min", ties, [=](const Tensor& x) { return min(x, dim, false); });
    compare_at("std", ties, [=](const Tensor& x) { return std_(x, dim, false, true); });
    for (const double p : {0.0, 0.5, 1.0, 1.5, 2.0, 3.0, kInfinity, -kInfinity, -1.0})
      compare_at("norm", ties, [=](const Tensor& x) { return norm(x, p, dim, false); });
  }
  for (const int64_t dim : {0, 1}) {
    compare_at("sort", ties, [=](const Tensor& x) { return square(std::get<0>(sort(x, dim, true))); });
    compare_at("topk", ties, [=](const Tensor& x) { return square(std::get<0>(topk(x, 2, dim))); });
  }
}

TEST_CASE("gradients of products with zeros are autograd's") {
  // Rows without a zero, with one, at either end, with several, and of zeros alone.
  const at::Tensor rows = at::tensor({2., -1., 3., 0.5,  //
                                      2., 0.,  3., 0.5,  //
                                      0., -1., 3., 0.5,  //
                                      2., -1., 3., 0.,   //
                                      2., 0.,  3., 0.,   //
                                      0., 0.,  0., 0.})
                              .reshape({6, 4});
  const std::vector<Given> given = {{{6, 4}}};
  for (const int64_t dim : {0, 1}) {
    compare({"prod", given, [=](const Tensors& x) { return prod(valued(x[0], rows), dim, false); }});
    compare({"cumprod", given, [=](const Tensors& x) { return cumprod(valued(x[0], rows), dim); }});
  }
  for (int64_t row = 0; row < 6; ++row) {
    const at::Tensor one = rows.slice(0, row, row + 1);
    compare({"prod of all", {{{1, 4}}}, [=](const Tensors& x) { return prod(valued(x[0], one), {}, false); }});
  }
}

TEST_CASE("gradients of losses at their bends are autograd's") {
  const at::Tensor p = at::tensor({0., 1., 0., 1., 0.5, 0.5, 1e-14, 0.3}),
                   y = at::tensor({0., 1., 1., 0., 1., 0.5, 0., 0.3});
  for (const char* by : {"mean", "sum"}) {
    // By a target LibTorch's are infinite where a probability is 0 or 1, and no numbers where a target is 0; the rules' are numbers.
    compare_at("bce", p, [=](const Tensor& x) { return bce(x, floats(y), by); });
    compare_at("bce_with_logits", (p - 0.5) * 100, y,
               [=](const Tensor& x, const Tensor& z) { return bce_with_logits(x, z, {}, by); });
    compare_at("l1", p, y, [=](const Tensor& x, const Tensor& z) { return l1(x, z, by); });
    for (const double width : {0.0, 0.5, 1.0, 2.0})
      compare_at("smooth_l1", p, y, [=](const Tensor& x, const Tensor& z) { return smooth_l1(x, z, width, by); });
    for (const double width : {0.5, 1.0, 2.0})
      compare_at("huber", p, y, [=](const Tensor& x, const Tensor& z) { return huber(x, z, width, by); });
    compare_at("kl_div", p, [=](const Tensor& x) { return kl_div(x, floats(y), by); });
    compare_at("gaussian_nll", at::tensor({0., 1e-6, 1e-7, 1., 2., 3., 0., 0.5}),
               [=](const Tensor& x) { return gaussian_nll(floats(p), floats(y), x, 1e-6, by); });
  }
}

TEST_CASE("gradients of vectors, of axes of 1 and of nothing are autograd's") {
  for (const Ints& sizes : std::vector<Ints>{{6}, {1, 1}, {0, 3}, {3, 0}}) {
    const auto check = [&](const Str& title, const std::function<Tensor(const Tensor&)>& function) {
      compare({title, {{sizes}}, [&](const Tensors& x) { return square(function(x[0])); }});
    };
    for (const int64_t dim : {0, -1}) {
      check("softmax", [=](const Tensor& x) { return softmax(x, dim); });
      check("log_softmax", [=](const Tensor& x) { return log_softmax(x, dim); });
      check("sum", [=](const Tensor& x) { return sum(x, dim, true); });
      check("mean", [=](const Tensor& x) { return mean(x, dim, false); });
      check("var", [=](const Tensor& x) { return var(x, dim, false, false); });
      check("norm", [=](const Tensor& x) { return norm(x, 2, dim, false); });
      check("logsumexp", [=](const Tensor& x) { return logsumexp(x, dim, false); });
      check("cumsum", [=](const Tensor& x) { return cumsum(x, dim); });
      check("flip", [=](const Tensor& x) { return flip(roll(x, 1, dim), {dim}); });
      check("slice", [=](const Tensor& x) { return slice(x, dim, 0, -1); });
      check("cat", [=](const Tensor& x) { return cat({x, mul(x, x)}, dim); });
    }
    check("layer_norm", [](const Tensor& x) { return layer_norm(x, {}, {}, 1e-5); });
    check("rms_norm", [](const Tensor& x) { return rms_norm(x, {}, {}); });
    check("mean of all", [](const Tensor& x) { return mean(x, {}, false); });
    compare({"linear", {{sizes}, {{4, sizes.back()}}, {{4}}}, [](const Tensors& x) {
               return square(linear(x[0], x[1], x[2]));
             }});
    compare({"matmul", {{sizes}, {{sizes.back(), 2}}}, [](const Tensors& x) { return square(matmul(x[0], x[1])); }});
    compare({"mse", {{sizes}, {sizes}}, [](const Tensors& x) { return mse(x[0], x[1], "mean"); }});
  }
}

}  // namespace ltr::plan::gradient_test
