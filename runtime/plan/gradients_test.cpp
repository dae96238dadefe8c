// Every gradient rule against LibTorch's autograd, in f64: an expression is recorded, differentiated and run on the reference
// executor, and so are its values. Then the same graph in f32 as a plan for CPUs, against the reference.

#undef LTR_RUNTIME  // Functions as programs call them.

#include <ATen/ATen.h>
#include <torch/csrc/autograd/autograd.h>

#include <doctest/doctest.h>

#include "ltr/operators.h"
#include "ltr/ops.h"
#include "runtime/plan/cpu/cpu_plan.h"
#include "runtime/plan/differentiate.h"
#include "runtime/plan/recorder.h"
#include "runtime/plan/reference.h"
#include "runtime/plan/rule.h"
#include "runtime/tensor/handle.h"
#include "runtime/tensor/mode.h"
#include "runtime/tensor/precision.h"
#include "runtime/tensor/random.h"

namespace ltr::plan {

namespace {

using Expression = std::function<Tensor(const Tensors&)>;

/// What an input is drawn from.
struct Given {
  Ints sizes;
  double low = -1;
  double high = 1;
};

struct Case {
  Str title;
  std::vector<Given> given;
  Expression expression;
  bool trains = true;
  double tolerance = 0;  ///< of the values; that of gradients is 1e-9
};

Tensors drawn(const std::vector<Given>& given, uint64_t seed, at::ScalarType type) {
  at::Generator generator = at::globalContext().defaultGenerator(at::kCPU).clone();
  generator.set_current_seed(seed);
  Tensors inputs;
  for (const Given& one : given) {
    const at::Tensor tensor = at::rand(one.sizes, generator, at::TensorOptions().dtype(at::kDouble));
    inputs.push_back(give((tensor * (one.high - one.low) + one.low).to(type).set_requires_grad(true)));
  }
  return inputs;
}

double difference(const at::Tensor& a, const at::Tensor& b) {
  REQUIRE(a.sizes() == b.sizes());
  if (a.numel() == 0) return 0;
  return ((a - b).abs() / (1 + b.abs())).max().item<double>();
}

/// The graph of an expression and of its gradients.
struct Recorded {
  Tensors inputs;
  std::vector<ValueId> ids;
  std::vector<at::Tensor> wanted;  ///< what autograd says
  at::Tensor loss;
  ValueId loss_id, seed_id;
  Graph graph;
  std::unordered_map<ValueId, Tensor> constants;
  std::vector<ValueId> gradients;
};

Recorded recorded(const Case& one, uint64_t seed, at::ScalarType type) {
  Recorded of;
  of.inputs = drawn(one.given, seed, type);
  Recorder recorder;
  for (const Tensor& input : of.inputs) of.ids.push_back(recorder.input(input, "x"));
  // A fixed weight for each element, so that no two gradients are equal by chance.
  const Tensor result = one.expression(of.inputs);
  const at::Tensor weight = at::linspace(0.5, 1.5, In(result)->numel(), type).reshape(In(result)->sizes());
  const Tensor loss = sum(mul(result, give(weight)), {}, false);
  recorder.output(loss);
  of.wanted = torch::autograd::grad({aten(loss)}, aten(of.inputs), {}, true, false, true);
  of.loss = aten(loss).detach();
  of.loss_id = recorder.id_of(loss);
  of.graph = recorder.graph();
  const size_t end = of.graph.nodes.size();
  of.seed_id = of.graph.add({.kind = Value::Kind::Input, .dtype = dtype_of(type), .is_sized = true, .name = "seed"});
  const Differentiated found = differentiate(of.graph, end, of.loss_id, of.seed_id, of.ids);
  if (found.refusal) FAIL(found.refusal->first);
  of.gradients = found.gradients;
  of.constants = recorder.constants();
  return of;
}

/// Runs all of it on the reference, which notes sizes.
Reference referred(Recorded& of, at::ScalarType type, uint64_t key) {
  Reference reference(of.graph, of.constants);
  reference.note_sizes(&of.graph);
  for (size_t i = 0; i < of.ids.size(); ++i) reference.set(of.ids[i], of.inputs[i]);
  reference.set(of.seed_id, give(at::ones({}, type)));
  seed_random(key);
  reference.run(0, of.graph.nodes.size());
  return reference;
}

/// The plan for CPUs gives what the reference gives, however many samples threads share.
void compare_plans(const Case& one, uint64_t seed, uint64_t key) {
  const PolicyScope floats(at::kFloat);
  seed_random(key);
  Recorded of = recorded(one, seed, at::kFloat);
  const Reference reference = referred(of, at::kFloat, key);
  if (!fits_cpu_plan(of.graph)) return;
  std::vector<ValueId> results{of.loss_id};
  for (const ValueId id : of.gradients) {
    if (id != kNone) results.push_back(id);
  }
  const int64_t first = one.given[0].sizes.empty() ? 1 : one.given[0].sizes[0];
  for (const auto& [samples, threads] : {std::pair<int64_t, int>(1, 1), {first, 1}, {first, 2}, {first, 3}}) {
    CpuPlan plan(of.graph, of.constants, {{0, of.graph.nodes.size(), results}}, samples, threads);
    CAPTURE(plan.text());
    for (int round = 0; round < 2; ++round) {
      plan.begin(key);
      for (size_t i = 0; i < of.ids.size(); ++i) plan.set(of.ids[i], of.inputs[i]);
      plan.set(of.seed_id, give(at::ones({}, at::kFloat)));
      REQUIRE(plan.run(0));
      for (const ValueId id : results) CHECK(difference(plan.view(id), aten(reference.value(id)).detach()) <= 1e-5);
      plan.end();
    }
  }
}

void compare(const Case& one) {
  CAPTURE(one.title);
  for (uint64_t seed = 1; seed <= 3; ++seed) {
    const PolicyScope doubles(at::kDouble);
    const ModeScope mode(one.trains, true);
    const uint64_t key = random_key(seed, "gradient", {});
    seed_random(key);
    Recorded of = recorded(one, seed, at::kDouble);
    CHECK(to_text(graph_of(to_text(of.graph))) == to_text(of.graph));
    const Reference reference = referred(of, at::kDouble, key);
    CHECK(difference(aten(reference.value(of.loss_id)), of.loss) <= one.tolerance);
    for (size_t i = 0; i < of.ids.size(); ++i) {
      CAPTURE(i);
      CAPTURE(to_text(of.graph));
      REQUIRE(of.wanted[i].defined() == (of.gradients[i] != kNone));
      if (of.wanted[i].defined()) CHECK(difference(aten(reference.value(of.gradients[i])), of.wanted[i]) <= 1e-9);
    }
    compare_plans(one, seed, key);
  }
}

const std::vector<Given> kOne = {{{3, 4}}}, kPair = {{{3, 4}}, {{3, 4}}}, kWide = {{{3, 1, 4}}, {{2, 1}}},
                         kAbove = {{{3, 4}, 0.2, 2}}, kFar = {{{5, 6}, -5, 8}};

/// Of the type that floats have where it is called.
Tensor floats(const at::Tensor& numbers) { return give(numbers.to(aten(DType::Float))); }

Tensor whole(std::initializer_list<int64_t> numbers, const Ints& sizes) {
  return give(at::tensor(std::vector<int64_t>(numbers), at::kLong).reshape(sizes));
}

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
  for (const char* mode : {"constant", "reflect", "replicate"}) {
    compare({mode, {{{2, 3, 5}}}, [mode](const Tensors& x) { return square(pad(x[0], {1, 2}, mode, 0)); }});
    compare({mode, {{{2, 3, 5, 4}}}, [mode](const Tensors& x) { return square(pad(x[0], {1, 2, 0, 1}, mode, 0)); }});
  }
  for (const char* mode : {"nearest", "bilinear", "bicubic"})
    compare({mode, {{{2, 3, 4, 5}}}, [mode](const Tensors& x) { return interpolate(x[0], 7, 8, mode, false); }});
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
  compare({"cumsum", cube, [](const Tensors& x) { return square(cumsum(x[0], 1)); }});
  compare({"topk", cube, [](const Tensors& x) { return square(std::get<0>(topk(x[0], 2, -1))); }});
  compare({"sort", cube, [](const Tensors& x) { return square(std::get<0>(sort(x[0], 1, true))); }});
}

TEST_CASE("gradients of products are autograd's") {
  for (const auto& given : std::vector<std::vector<Given>>{{{{3, 4}}, {{4, 5}}},
                                                           {{{2, 1, 3, 4}}, {{5, 4, 2}}},
                                                           {{{4}}, {{4}}},
                                                           {{{4}}, {{2, 4, 3}}},
                                                           {{{2, 3, 4}}, {{4}}}})
    compare({"matmul", given, [](const Tensors& x) { return matmul(x[0], x[1]); }});
  compare({"bmm", {{{2, 3, 4}}, {{2, 4, 5}}}, [](const Tensors& x) { return bmm(x[0], x[1]); }});
  compare({"linear", {{{2, 3, 4}}, {{5, 4}}, {{5}}}, [](const Tensors& x) { return linear(x[0], x[1], x[2]); }});
  compare({"linear of a row", {{{4}}, {{5, 4}}}, [](const Tensors& x) { return linear(x[0], x[1], {}); }});
  compare(
      {"embedding", {{{5, 3}}}, [](const Tensors& x) { return square(embedding(whole({1, 4, 1, 0}, {2, 2}), x[0])); }});
  compare({"conv1d", {{{2, 4, 9}}, {{6, 2, 3}}, {{6}}}, [](const Tensors& x) {
             return conv1d(x[0], x[1], x[2], 2, {1, 1}, 2, 2);
           }});
  compare({"conv2d", {{{2, 3, 6, 7}}, {{4, 3, 3, 3}}, {{4}}}, [](const Tensors& x) {
             return conv2d(x[0], x[1], x[2], {1, 1}, {1, 1, 1, 1}, {1, 1}, 1);
           }});
  compare({"conv2d of unequal ends", {{{2, 3, 6, 7}}, {{4, 3, 2, 4}}, {{4}}}, [](const Tensors& x) {
             return conv2d(x[0], x[1], x[2], {1, 2}, {0, 1, 2, 1}, {2, 1}, 1);
           }});
  compare({"conv1d of unequal ends", {{{2, 4, 9}}, {{6, 4, 4}}, {{6}}}, [](const Tensors& x) {
             return conv1d(x[0], x[1], x[2], 1, {3, 0}, 1, 1);
           }});
  compare({"conv2d without bias", {{{2, 4, 6, 7}}, {{4, 1, 3, 3}}}, [](const Tensors& x) {
             return conv2d(x[0], x[1], {}, {2, 2}, {0, 0, 0, 0}, {1, 1}, 4);
           }});
  compare({"conv3d", {{{1, 2, 4, 5, 4}}, {{3, 2, 2, 2, 2}}, {{3}}}, [](const Tensors& x) {
             return conv3d(x[0], x[1], x[2], {1, 1, 1}, {0, 0, 0, 0, 0, 0}, {1, 1, 1}, 1);
           }});
  compare({"conv_transpose1d", {{{2, 4, 5}}, {{4, 3, 3}}, {{3}}}, [](const Tensors& x) {
             return conv_transpose1d(x[0], x[1], x[2], 2, 1, 1, 1, 1);
           }});
  compare({"conv_transpose2d", {{{2, 4, 3, 4}}, {{4, 2, 3, 3}}, {{4}}}, [](const Tensors& x) {
             return conv_transpose2d(x[0], x[1], x[2], {2, 2}, {1, 1}, {1, 1}, 2, {1, 1});
           }});
  compare({"max_pool", {{{2, 3, 7}}}, [](const Tensors& x) { return square(max_pool1d(x[0], 3, 2, 1)); }});
  compare({"max_pool2d", {{{2, 3, 7, 6}}}, [](const Tensors& x) {
             return square(max_pool2d(x[0], {2, 3}, {2, 1}, {0, 1}));
           }});
  compare({"max_pool2d of equal ones", {{{2, 3, 7, 6}, -2, 2}}, [](const Tensors& x) {
             return add(square(max_pool2d(round(x[0]), {2, 2}, {2, 2}, {0, 0})),
                        max_pool2d(x[0], {2, 2}, {2, 2}, {0, 0}));
           }});
  for (const int64_t width : {2, 4, 9, 11, 26, 35, 70}) {
    compare({"max_pool2d of squares", {{{2, 2, 5, width}, -2, 2}}, [](const Tensors& x) {
               const Tensor ties = mul(x[0], gt(x[0], Scalar(0.0)));  // half of it is equal
               return square(max_pool2d(ties, {2, 2}, {2, 2}, {0, 0}));
             }});
  }
  compare({"max_pool2d with borders", {{{2, 3, 7, 6}}}, [](const Tensors& x) {
             return square(max_pool2d(x[0], {3, 3}, {2, 2}, {1, 1}));
           }});
  compare({"max_pool1d of pairs", {{{3, 2, 9}}}, [](const Tensors& x) { return square(max_pool1d(x[0], 2, 2, 0)); }});
  compare({"avg_pool", {{{2, 3, 7}}}, [](const Tensors& x) { return square(avg_pool1d(x[0], 3, 2, 1)); }});
  compare({"avg_pool2d", {{{2, 3, 7, 6}}}, [](const Tensors& x) {
             return square(avg_pool2d(x[0], {2, 3}, {2, 1}, {1, 0}));
           }});
  compare({"adaptive_avg_pool", {{{2, 3, 7}}}, [](const Tensors& x) { return square(adaptive_avg_pool1d(x[0], 3)); }});
  compare({"avg_pool2d of squares", {{{2, 3, 8, 40}}}, [](const Tensors& x) {
             return square(avg_pool2d(x[0], {2, 2}, {2, 2}, {0, 0}));
           }});
  compare({"adaptive_avg_pool2d of all", {{{2, 3, 7, 37}}}, [](const Tensors& x) {
             return square(adaptive_avg_pool2d(x[0], {1, 1}));
           }});
  compare({"adaptive_avg_pool2d of more", {{{2, 3, 3, 4}}}, [](const Tensors& x) {
             return square(adaptive_avg_pool2d(x[0], {5, 4}));
           }});
  compare({"adaptive_avg_pool2d", {{{2, 3, 7, 6}}}, [](const Tensors& x) {
             return square(adaptive_avg_pool2d(x[0], {3, 2}));
           }});
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

TEST_CASE("gradients of attention are autograd's") {
  const std::vector<Given> heads = {{{2, 4, 5, 6}}, {{2, 4, 5, 6}}, {{2, 4, 5, 6}}},
                           shared = {{{2, 4, 5, 6}}, {{2, 2, 5, 6}}, {{2, 2, 5, 6}}};
  const Tensor sees = give(at::ones({5, 5}, at::kBool).tril(1));
  for (const auto& given : {heads, shared}) {
    compare({"attention", given, [](const Tensors& x) { return attention(x[0], x[1], x[2], {}, false, 0, {}); }});
    compare({"causal", given, [](const Tensors& x) { return attention(x[0], x[1], x[2], {}, true, 0, 0.3); }});
    compare({"dropped", given, [](const Tensors& x) { return attention(x[0], x[1], x[2], {}, true, 0.3, {}); }});
  }
  compare({"masked", heads, [sees](const Tensors& x) { return attention(x[0], x[1], x[2], sees, false, 0, {}); }});
  compare({"biased", heads, [](const Tensors& x) {
             const Tensor added = floats(at::linspace(-1, 1, 25).reshape({5, 5}));
             return attention(x[0], x[1], x[2], added, true, 0, {});
           }});
  compare({"rope", {{{2, 3, 5, 6}}}, [](const Tensors& x) { return square(rope(x[0], 100, 2)); }});
}

TEST_CASE("gradients of norms are autograd's") {
  const std::vector<Given> rows = {{{2, 3, 6}}, {{6}}, {{6}}}, images = {{{3, 4, 2, 3}}, {{4}}, {{4}}};
  compare({"layer_norm", rows, [](const Tensors& x) { return square(layer_norm(x[0], x[1], x[2], 1e-5)); }});
  compare({"layer_norm alone", {{{2, 3, 6}}}, [](const Tensors& x) { return square(layer_norm(x[0], {}, {}, 1e-5)); }});
  compare({"layer_norm with a bias", {{{2, 3, 6}}, {{6}}}, [](const Tensors& x) {
             return square(layer_norm(x[0], {}, x[1], 1e-5));
           }});
  compare({"group_norm alone", {{{3, 4, 2, 3}}}, [](const Tensors& x) {
             return square(group_norm(x[0], 2, {}, {}, 1e-5));
           }});
  compare({"rms_norm", {{{2, 3, 6}}, {{6}}}, [](const Tensors& x) { return square(rms_norm(x[0], x[1], 1e-6)); }});
  compare({"rms_norm alone", {{{2, 3, 6}}}, [](const Tensors& x) { return square(rms_norm(x[0], {}, {})); }});
  compare({"group_norm", images, [](const Tensors& x) { return square(group_norm(x[0], 2, x[1], x[2], 1e-5)); }});
  compare({"instance_norm", images, [](const Tensors& x) { return square(instance_norm(x[0], x[1], x[2], 1e-5)); }});
  compare({"group_norm of rows", {{{5, 12}}, {{12}}, {{12}}}, [](const Tensors& x) {
             return square(group_norm(x[0], 3, x[1], x[2], 1e-5));
           }});
  compare({"group_norm of planes far from 0", {{{2, 4, 20, 33}, 3, 5}, {{4}}, {{4}}}, [](const Tensors& x) {
             return mul(group_norm(x[0], 2, x[1], x[2], 1e-5), Scalar(0.001));
           }});
  compare({"instance_norm alone", {{{3, 4, 5}}}, [](const Tensors& x) {
             return square(instance_norm(x[0], {}, {}, 1e-5));
           }});
  for (const auto& sizes : std::vector<Ints>{{7, 70}, {5, 3, 17}, {3, 2, 3, 20}}) {
    for (const bool trains : {true, false}) {
      compare({"batch_norm",
               {{sizes, -1, 3}, {{sizes[1]}}, {{sizes[1]}}},
               [](const Tensors& x) {
                 const auto buffer = [&](double value) {
                   return floats(at::full({In(x[0])->size(1)}, value, at::kDouble));
                 };
                 const auto normed = [&](const Tensor& y, const Tensor& weight, const Tensor& bias) {
                   return batch_norm(y, weight, bias, buffer(0.1), buffer(0.9), give(at::zeros({}, at::kLong)), 0.1,
                                     1e-5);
                 };
                 return add(relu(normed(x[0], x[1], x[2])), normed(square(x[0]), {}, {}));
               },
               trains});
    }
  }
  for (const bool trains : {true, false}) {
    compare({"batch_norm", images,
             [](const Tensors& x) {
               const auto buffer = [](double value) { return floats(at::full({4}, value, at::kDouble)); };
               return square(
                   batch_norm(x[0], x[1], x[2], buffer(0.1), buffer(0.9), give(at::zeros({}, at::kLong)), 0.1, 1e-5));
             },
             trains});
  }
}

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

TEST_CASE("gradients of recurrent layers are autograd's") {
  const std::vector<Given> lstm_given = {{{2, 5, 3}}, {{2, 4}}, {{2, 4}}, {{16, 3}}, {{16, 4}}, {{16}}, {{16}}};
  const std::vector<Given> gru_given = {{{2, 5, 3}}, {{2, 4}}, {{12, 3}}, {{12, 4}}, {{12}}, {{12}}};
  // LibTorch fuses other ops where no gradient is asked for.
  constexpr double kLastBits = 1e-14;
  for (const bool reverse : {false, true}) {
    compare({"lstm", lstm_given,
             [=](const Tensors& x) {
               const auto [y, h, c] = lstm(x[0], x[1], x[2], x[3], x[4], x[5], x[6], reverse);
               return cat({flatten(y, 0, -1), flatten(mul(h, c), 0, -1)}, 0);
             },
             true, kLastBits});
    compare({"lstm of many units",
             {{{5, 3, 9}}, {{5, 21}}, {{5, 21}}, {{84, 9}, -0.3, 0.3}, {{84, 21}, -0.3, 0.3}, {{84}}, {{84}}},
             [=](const Tensors& x) {
               const auto [y, h, c] = lstm(x[0], x[1], x[2], x[3], x[4], x[5], x[6], reverse);
               const auto [z, last, cell] = lstm(y, h, c, slice(x[4], 1, {}, 21), x[4], {}, {}, !reverse);
               return add(mul(c, last), mul(h, select(z, 1, 1)));
             },
             true,
             kLastBits});
    compare({"gru of many units",
             {{{5, 3, 9}}, {{5, 21}}, {{63, 9}, -0.3, 0.3}, {{63, 21}, -0.3, 0.3}},
             [=](const Tensors& x) {
               const auto [y, h] = gru(x[0], x[1], x[2], x[3], {}, {}, reverse);
               return mul(std::get<1>(gru(y, h, x[3], x[3], {}, {}, !reverse)), select(y, 1, 1));
             },
             true,
             kLastBits});
    compare({"lstm without biases",
             {lstm_given.begin(), lstm_given.begin() + 5},
             [=](const Tensors& x) { return std::get<0>(lstm(x[0], x[1], x[2], x[3], x[4], {}, {}, reverse)); },
             true,
             kLastBits});
    compare({"gru", gru_given,
             [=](const Tensors& x) {
               const auto [y, h] = gru(x[0], x[1], x[2], x[3], x[4], x[5], reverse);
               return cat({flatten(y, 0, -1), flatten(h, 0, -1)}, 0);
             },
             true, kLastBits});
  }
}

}  // namespace ltr::plan
