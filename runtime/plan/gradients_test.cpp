// Every gradient rule of elements, forms and reductions.

#include "runtime/plan/gradient_test.h"

namespace ltr::plan::gradient_test {

namespace {

const std::vector<Given> kOne = {{{3, 4}}}, kPair = {{{3, 4}}, {{3, 4}}}, kWide = {{{3, 1, 4}}, {{2, 1}}},
                         kAbove = {{{3, 4}, 0.2, 2}}, kFar = {{{5, 6}, -5, 8}};

}  // namespace

TEST_CASE("gradients of arithmetic are autograd's") {
  for (const auto& given : {kPair, kWide}) {
    compare({"add", given, [](const Tensors& x) { return add(x[0], x[1]); }});
    compare({"sub", given, [](const Tensors& x) { return sub(x[0], x[1]); }});
    compare({"mul", given, [](const Tensors& x) { return mul(x[0], x[1]); }});
    compare({"div", given, [](const Tensors& x) { return div(x[0], add(x[1], Scalar(3.0))); }});
    compare({"maximum", given, [](const Tensors& x) { return maximum(x[0], x[1]); }});
    compare({"minimum", given, [](const Tensors& x) { return minimum(x[0], x[1]); }});
    compare({"where", given, [](const Tensors& x) { return where(gt(x[0], x[1]), mul(x[0], Scalar(2)), x[1]); }});
    compare({"remainder", given, [](const Tensors& x) { return remainder(x[0], add(x[1], Scalar(1.5))); }});
  }
  compare({"number_remainder", kAbove, [](const Tensors& x) { return remainder(Scalar(5), x[0]); }});
  compare({"equal ones", kOne, [](const Tensors& x) { return maximum(x[0], minimum(x[0], x[0])); }});
  compare({"twice", kOne, [](const Tensors& x) { return mul(x[0], x[0]); }});
  compare({"numbers", kOne, [](const Tensors& x) { return add(Scalar(2), mul(sub(Scalar(1.5), x[0]), Scalar(3))); }});
  compare(
      {"more numbers", kOne, [](const Tensors& x) { return mul(Scalar(0.5), sub(div(x[0], Scalar(4)), Scalar(2))); }});
  compare({"number_div", kAbove, [](const Tensors& x) { return div(Scalar(2), x[0]); }});
  compare({"pow", {{{3, 4}, 0.2, 2}, {{4}, -2, 2}}, [](const Tensors& x) { return pow(x[0], x[1]); }});
  compare({"pow_number", kOne, [](const Tensors& x) { return add(pow(x[0], Scalar(3)), pow(x[0], Scalar(0))); }});
  compare({"number_pow", kOne, [](const Tensors& x) { return pow(Scalar(1.7), x[0]); }});
  compare({"maximum_number", kOne, [](const Tensors& x) { return maximum(minimum(x[0], Scalar(0.4)), Scalar(-0.3)); }});
  compare({"number_maximum", kOne, [](const Tensors& x) { return maximum(Scalar(-0.3), minimum(Scalar(0.4), x[0])); }});
  compare({"clamp", kOne, [](const Tensors& x) { return add(clamp(x[0], -0.5, 0.5), clamp(x[0], {}, 0.2)); }});
  compare({"where_number", kOne, [](const Tensors& x) {
             const Tensor is_above = gt(x[0], Scalar(0.0));
             return add(where(is_above, x[0], Scalar(2.0)), where(is_above, Scalar(1.0), mul(x[0], Scalar(3))));
           }});
  compare({"masked_fill", kOne, [](const Tensors& x) { return masked_fill(x[0], gt(x[0], Scalar(0.2)), Scalar(7)); }});
  compare({"stop_grad", kOne, [](const Tensors& x) { return mul(stop_grad(x[0]), x[0]); }});
}

TEST_CASE("gradients of functions are autograd's") {
  compare({"exp", kOne, [](const Tensors& x) { return neg(exp(clone(x[0]))); }});
  compare({"log", kAbove, [](const Tensors& x) { return log(x[0]); }});
  compare({"sqrt", kAbove, [](const Tensors& x) { return sqrt(rsqrt(log1p(x[0]))); }});
  compare({"sin", kOne, [](const Tensors& x) { return sin(cos(square(x[0]))); }});
  compare({"tanh", kOne, [](const Tensors& x) { return tanh(sigmoid(erf(abs(x[0])))); }});
  compare({"round", kFar,
           [](const Tensors& x) { return mul(x[0], add(floor(x[0]), add(ceil(x[0]), round(sign(x[0]))))); }});
  compare({"floor alone", kFar, [](const Tensors& x) { return floor(x[0]); }});
}

TEST_CASE("gradients of activations are autograd's") {
  using Function = Tensor (*)(const Tensor&);
  for (const Function function : {Function(relu), Function(relu6), Function(silu), Function(mish), Function(selu),
                                  Function(hardswish), Function(logsigmoid), Function(glu), Function(swiglu)}) {
    compare({"activation", kFar, [function](const Tensors& x) { return function(x[0]); }});
  }
  compare({"gelu", kFar, [](const Tensors& x) { return add(gelu(x[0], "none"), gelu(x[0], "tanh")); }});
  compare({"elu", kFar, [](const Tensors& x) { return elu(x[0], 0.7); }});
  compare({"leaky_relu", kFar, [](const Tensors& x) { return leaky_relu(x[0], 0.2); }});
  compare({"softplus", kFar, [](const Tensors& x) { return softplus(x[0], 1.5); }});
  compare({"prelu", {{{5, 6}, -5, 8}, {{1}}}, [](const Tensors& x) { return prelu(x[0], x[1]); }});
  compare({"prelu of channels", {{{2, 3, 4}, -5, 8}, {{3}}}, [](const Tensors& x) { return prelu(x[0], x[1]); }});
  for (const int64_t dim : {0, 1, -1}) {
    compare({"softmax", kFar, [dim](const Tensors& x) { return softmax(x[0], dim); }});
    compare({"log_softmax", kFar, [dim](const Tensors& x) { return log_softmax(x[0], dim); }});
  }
  compare({"dropout", {{{40, 30}}}, [](const Tensors& x) { return dropout(mul(dropout(x[0], 0.5), x[0]), 0.2); }});
  compare({"dropout2d", {{{8, 6, 2, 2}}}, [](const Tensors& x) { return dropout2d(x[0], 0.5); }});
}

TEST_CASE("gradients of what moves elements are autograd's") {
  const std::vector<Given> cube = {{{2, 3, 4}}};
  compare({"reshape", cube, [](const Tensors& x) { return square(flatten(reshape(x[0], {4, -1, 3}), 0, 1)); }});
  compare({"permute", cube, [](const Tensors& x) { return square(permute(transpose(x[0], 0, -1), {1, 2, 0})); }});
  compare({"squeeze", cube, [](const Tensors& x) { return square(squeeze(unsqueeze(x[0], 1), 1)); }});
  compare({"expand", {{{3, 1}}}, [](const Tensors& x) { return square(expand(x[0], {2, 3, 4})); }});
  compare({"cat", {{{2, 3}}, {{2, 1}}, {{2, 2}}}, [](const Tensors& x) {
             return square(cat({x[0], x[1], x[0], x[2]}, 1));
           }});
  compare({"stack", kPair, [](const Tensors& x) { return square(stack({x[0], x[1], x[0]}, 1)); }});
  compare({"chunk", cube, [](const Tensors& x) {
             const Tensors parts = chunk(x[0], 2, 2);
             return mul(parts[1], parts[1]);
           }});
  compare({"split", cube, [](const Tensors& x) {
             const Tensors parts = split(x[0], {1, 2}, 1);
             return mul(parts[0], sum(parts[1], {}, false));
           }});
  compare({"flip", cube, [](const Tensors& x) { return square(roll(flip(x[0], {0, 2}), 1, -1)); }});
  compare({"repeat", {{{2, 3}}}, [](const Tensors& x) { return square(repeat(x[0], {2, 1, 3})); }});
  compare({"tril", {{{4, 5}}}, [](const Tensors& x) { return add(tril(x[0], 1), triu(x[0], -1)); }});
  compare({"diagonal", {{{4, 5}}}, [](const Tensors& x) { return square(diagonal(x[0], 1, 0, 1)); }});
  compare(
      {"flip alone", {{{3, 5}}}, [](const Tensors& x) { return square(add(flip(x[0], {1, 0}), roll(x[0], -7, 0))); }});
  for (const char* mode : {"constant", "reflect", "replicate", "circular"}) {
    compare({mode, {{{2, 3, 5}}}, [mode](const Tensors& x) { return square(pad(x[0], {1, 2}, mode, 0)); }});
    compare({mode, {{{2, 3, 5, 4}}}, [mode](const Tensors& x) { return square(pad(x[0], {1, 2, 0, 1}, mode, 0)); }});
  }
  compare({"pad with numbers", {{{2, 3, 5, 40}}}, [](const Tensors& x) {
             return square(pad(pad(x[0], {3, 0, 0, 2, 1, 0}, "constant", 0.7), {-1, 1, 1, -2}, "constant", 0));
           }});
  for (const char* mode : {"nearest", "bilinear", "bicubic"}) {
    const bool is_smooth = Str(mode) != "nearest";
    for (const auto& [height, width] : {std::pair(7, 8), {2, 3}, {8, 10}, {4, 1}, {1, 5}, {4, 5}, {3, 40}}) {
      compare({mode, {{{2, 3, 4, 5}}}, [=](const Tensors& x) {
                 return square(interpolate(x[0], height, width, mode, false));
               }});
      if (!is_smooth) continue;
      compare({mode, {{{2, 3, 4, 5}}}, [=](const Tensors& x) { return interpolate(x[0], height, width, mode, true); }});
    }
  }
  compare({"pixel_shuffle", {{{2, 8, 2, 3}}}, [](const Tensors& x) { return square(pixel_shuffle(x[0], 2)); }});
  const Tensor index = whole({0, 2, 1, 1, 0, 2}, {2, 3});
  compare({"gather", kOne, [index](const Tensors& x) { return square(gather(x[0], 0, index)); }});
  compare({"scatter", {{{3, 4}}, {{2, 1}}}, [](const Tensors& x) {
             return square(scatter(x[0], 1, whole({0, 2, 3, 1}, {2, 2}), x[1]));
           }});
  compare({"scatter_add", {{{3, 4}}, {{2, 3}}}, [index](const Tensors& x) {
             return square(scatter_add(x[0], 1, index, x[1]));
           }});
  compare(
      {"index_select", kOne, [](const Tensors& x) { return square(index_select(x[0], 1, whole({3, 0, 3}, {3}))); }});
  compare({"select", cube, [](const Tensors& x) { return square(select(x[0], 1, -1)); }});
  compare({"slice", cube, [](const Tensors& x) { return square(slice(slice(x[0], 2, 1, 3), 1, {}, -1)); }});
  for (const int64_t dim : {0, -1}) {
    for (const Tensor& places :
         {whole({1, 0, 1}, {3}), whole({-1, 0, -1, 1}, {2, 2}), whole({1}, {}), whole({}, {0})}) {
      compare({"index_tensor", cube, [=](const Tensors& x) { return square(index_tensor(x[0], dim, places)); }});
      compare({"put_tensor", {cube[0], {{}}}, [=](const Tensors& x) {
                 return square(put_tensor(x[0], dim, places, x[1]));
               }});
    }
  }
  const Tensor places = whole({1, 0, 1, -1}, {2, 2}), mask = give(at::tensor({1, 0, 1, 1, 0, 0}).reshape({2, 3}).gt(0));
  for (const Ints& sizes : std::vector<Ints>{{2, 2, 3, 4}, {2, 1, 1, 4}, {3, 1}, {1}})
    compare({"put_tensor of more", {cube[0], {sizes}}, [=](const Tensors& x) {
               return square(put_tensor(x[0], 0, places, x[1]));
             }});
  for (const Ints& sizes : std::vector<Ints>{{3, 4}, {3, 1}, {}})
    compare({"put_tensor by a mask", {cube[0], {sizes}}, [=](const Tensors& x) {
               return square(put_tensor(x[0], 0, mask, x[1]));
             }});
  compare({"put_select", {{{3, 4}}, {{4}}}, [](const Tensors& x) { return square(put_select(x[0], 0, 1, x[1])); }});
  compare(
      {"put_slice", {{{3, 4}}, {{3, 1}}}, [](const Tensors& x) { return square(put_slice(x[0], 1, 1, {}, x[1])); }});
}

TEST_CASE("gradients of what makes one of many are autograd's") {
  using Dim = Option<int64_t>;
  const std::vector<Given> cube = {{{2, 3, 4}}};
  for (const Dim dim : {Dim(), Dim(0), Dim(1), Dim(-1)}) {
    for (const bool kept : {false, true}) {
      compare({"sum", cube, [=](const Tensors& x) { return square(sum(x[0], dim, kept)); }});
      compare({"mean", cube, [=](const Tensors& x) { return square(mean(x[0], dim, kept)); }});
      compare({"var", cube,
               [=](const Tensors& x) { return add(var(x[0], dim, kept, true), std_(x[0], dim, kept, false)); }});
      compare({"max", cube, [=](const Tensors& x) { return square(max(x[0], dim, kept)); }});
      compare({"min", cube, [=](const Tensors& x) { return square(min(x[0], dim, kept)); }});
      for (const double p : {1.0, 2.0, 3.5, std::numeric_limits<double>::infinity()})
        compare({"norm", cube, [=](const Tensors& x) { return square(norm(x[0], p, dim, kept)); }});
      compare({"logsumexp", cube, [=](const Tensors& x) { return square(logsumexp(x[0], dim, kept)); }});
    }
  }
  compare({"shared max", cube, [](const Tensors& x) { return max(sign(mul(x[0], x[0])), {}, false); }});
  compare({"norm of nothing", {{{3, 4}}}, [](const Tensors& x) {
             return add(norm(sub(x[0], x[0]), 2, 1, false), norm(sub(x[0], x[0]), 1, 1, false));
           }});
  for (const auto& sizes : std::vector<Ints>{{2, 3, 4}, {1, 5, 1}, {3, 0, 2}, {6}}) {
    const Given one{sizes, -2, 2};
    for (const Dim dim : {Dim(), Dim(0), Dim(1), Dim(-1)}) {
      if (dim.value_or(0) == 1 && sizes.size() == 1) continue;
      for (const bool kept : {false, true})
        compare({"prod", {one}, [=](const Tensors& x) { return square(prod(x[0], dim, kept)); }});
      if (!dim) continue;
      compare({"cumprod", {one}, [=](const Tensors& x) { return square(cumprod(x[0], *dim)); }});
      compare({"logcumsumexp", {one}, [=](const Tensors& x) { return square(logcumsumexp(x[0], *dim)); }});
    }
  }
  compare({"of a number", {{{}}}, [](const Tensors& x) {
             return add(add(prod(x[0], {}, false), prod(x[0], 0, true)), mul(cumprod(x[0], 0), logcumsumexp(x[0], -1)));
           }});
  // Gradients of 0, above and below 0, and sizes that no exponential holds.
  compare({"logcumsumexp of signs", {{{4, 6}, -300, 300}}, [](const Tensors& x) {
             const Tensor signs = floats(at::tensor({-1, 0, 1, 2, 0, -3}));
             return mul(logcumsumexp(x[0], 1), signs);
           }});
  compare({"cumsum", cube, [](const Tensors& x) { return square(cumsum(x[0], 1)); }});
  compare({"topk", cube, [](const Tensors& x) { return square(std::get<0>(topk(x[0], 2, -1))); }});
  compare({"sort", cube, [](const Tensors& x) { return square(std::get<0>(sort(x[0], 1, true))); }});
}

TEST_CASE("gradients of convolutions of any form are autograd's") {
  const auto images = [](const Str& title, const Ints& x, const Ints& weight, const Ints& stride, const Ints& padding,
                         const Ints& dilation, int64_t groups) {
    compare({title, {{x}, {weight}, {{weight[0]}}}, [&](const Tensors& in) {
               return conv2d(in[0], in[1], in[2], stride, padding, dilation, groups);
             }});
  };
  images("square", {2, 3, 9, 20}, {50, 3, 3, 3}, {1, 1}, {0, 0, 0, 0}, {1, 1}, 1);
  images("deep", {4, 20, 9, 13}, {7, 20, 3, 3}, {1, 1}, {1, 1, 1, 1}, {1, 1}, 1);
  images("one place", {4, 5, 3, 4}, {9, 5, 3, 4}, {1, 1}, {0, 0, 0, 0}, {1, 1}, 1);
  images("steps", {4, 4, 15, 12}, {6, 4, 3, 2}, {2, 3}, {1, 0, 2, 1}, {1, 1}, 1);
  images("wide", {4, 4, 15, 19}, {6, 4, 3, 3}, {1, 1}, {2, 2, 3, 1}, {2, 3}, 1);
  images("much border", {4, 2, 5, 5}, {3, 2, 2, 2}, {1, 1}, {3, 3, 3, 3}, {1, 1}, 1);
  images("groups", {4, 12, 8, 8}, {18, 4, 3, 3}, {1, 1}, {1, 1, 1, 1}, {1, 1}, 3);
  images("each channel", {4, 17, 8, 8}, {17, 1, 3, 3}, {2, 2}, {1, 1, 1, 1}, {1, 1}, 17);
  images("points", {4, 20, 7, 7}, {10, 20, 1, 1}, {2, 2}, {0, 0, 0, 0}, {1, 1}, 1);
  compare({"long line", {{{3, 3, 700}}, {{4, 3, 5}}, {{4}}}, [](const Tensors& x) {
             return conv1d(x[0], x[1], x[2], 1, {2, 2}, 1, 1);
           }});
}

}  // namespace ltr::plan::gradient_test
