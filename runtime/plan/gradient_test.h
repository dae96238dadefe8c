#pragma once

// How gradient rules are tested: an expression is recorded, differentiated and run on the reference executor, and so are its values,
// against LibTorch's autograd, in f64. Then the same graph in f32 as a plan for CPUs, against the reference.

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

namespace ltr::plan::gradient_test {

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
  double plan_tolerance = 1e-5;
  bool bends = false;  ///< inside of it: numbers that are near may have another gradient
};

inline Tensors drawn(const std::vector<Given>& given, uint64_t seed, at::ScalarType type) {
  at::Generator generator = at::globalContext().defaultGenerator(at::kCPU).clone();
  generator.set_current_seed(seed);
  Tensors inputs;
  for (const Given& one : given) {
    const at::Tensor tensor = at::rand(one.sizes, generator, at::TensorOptions().dtype(at::kDouble));
    inputs.push_back(give((tensor * (one.high - one.low) + one.low).to(type).set_requires_grad(true)));
  }
  return inputs;
}

inline double difference(const at::Tensor& a, const at::Tensor& b) {
  REQUIRE(a.sizes() == b.sizes());
  if (a.numel() == 0) return 0;
  const at::Tensor apart = (a - b).abs() / (1 + b.abs()),
                   are_same = a.eq(b).logical_or(a.isnan().logical_and(b.isnan()));
  return apart.masked_fill(are_same, 0).nan_to_num(INFINITY).max().item<double>();
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

inline Recorded recorded(const Case& one, uint64_t seed, at::ScalarType type) {
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

/// Runs all of it on the reference, which notes sizes: those that zeros have, too, where they come to an end.
inline Reference referred(Recorded& of, at::ScalarType type, uint64_t key) {
  const auto run = [&](Graph& graph, Reference& reference) {
    reference.note_sizes(&graph);
    for (size_t i = 0; i < of.ids.size(); ++i) reference.set(of.ids[i], of.inputs[i]);
    reference.set(of.seed_id, give(at::ones({}, type)));
    seed_random(key);
    reference.run(0, graph.nodes.size());
  };
  Graph of_zeros = of.graph;
  Reference zeros(of_zeros, of.constants);
  zeros.leave_out_what_is_sized();
  bool has_sizes = true;
  try {
    run(of_zeros, zeros);
  } catch (const std::exception&) {
    has_sizes = false;
  }
  Reference reference(of.graph, of.constants);
  run(of.graph, reference);
  for (ValueId id = 0; has_sizes && id < of.graph.values.size(); ++id) {
    CHECK(of.graph.values[id].sizes == of_zeros.values[id].sizes);
    CHECK(of.graph.values[id].dtype == of_zeros.values[id].dtype);
  }
  return reference;
}

/// Products in bf16 keep two digits of the largest element, where what they sum is much larger too.
inline void compare_narrow_plan(const Recorded& of, const Reference& reference, const std::vector<ValueId>& results,
                                int64_t samples, uint64_t key) {
  CpuPlan plan(of.graph, of.constants, {{0, of.graph.nodes.size(), results}}, samples, 2, std::make_shared<Arena>(), {},
               true);
  if (plan.text().find(" in bf16") == Str::npos) return;
  CAPTURE(plan.text());
  plan.begin(key);
  for (size_t i = 0; i < of.ids.size(); ++i) plan.set(of.ids[i], of.inputs[i]);
  plan.set(of.seed_id, give(at::ones({}, at::kFloat)));
  REQUIRE(plan.run(0));
  for (const ValueId id : results) {
    const at::Tensor wanted = aten(reference.value(id)).detach();
    if (wanted.numel() == 0) continue;
    const double size = std::max(1.0, wanted.abs().max().item<double>());
    CHECK((plan.view(id) - wanted).abs().max().item<double>() <= 2e-2 * size);
  }
  plan.end();
}

/// The plan for CPUs gives what the reference gives, however many samples threads share.
inline void compare_plans(const Case& one, uint64_t seed, uint64_t key) {
  const PolicyScope floats(at::kFloat);
  seed_random(key);
  Recorded of = recorded(one, seed, at::kFloat);
  const Reference reference = referred(of, at::kFloat, key);
  if (!has_fixed_sizes(of.graph)) return;
  std::vector<ValueId> results{of.loss_id};
  for (const ValueId id : of.gradients) {
    if (id != kNone) results.push_back(id);
  }
  const int64_t first = one.given[0].sizes.empty() ? 1 : std::max<int64_t>(one.given[0].sizes[0], 1);
  for (const auto& [samples, threads] : {std::pair<int64_t, int>(1, 1), {first, 1}, {first, 2}, {first, 3}}) {
    CpuPlan plan(of.graph, of.constants, {{0, of.graph.nodes.size(), results}}, samples, threads);
    CAPTURE(plan.text());
    for (int round = 0; round < 2; ++round) {
      plan.begin(key);
      for (size_t i = 0; i < of.ids.size(); ++i) plan.set(of.ids[i], of.inputs[i]);
      plan.set(of.seed_id, give(at::ones({}, at::kFloat)));
      REQUIRE(plan.run(0));
      for (const ValueId id : results)
        CHECK(difference(plan.view(id), aten(reference.value(id)).detach()) <= one.plan_tolerance);
      plan.end();
    }
  }
  if (!one.bends) compare_narrow_plan(of, reference, results, first, key);
}

inline Recording listened(const Case& one, const Tensors& inputs, uint64_t key, const Recording* known) {
  seed_random(key);
  Recorder recorder(known);
  for (const Tensor& input : inputs) recorder.input(input, "x");
  recorder.output(one.expression(inputs));
  return recorder.take();
}

/// A run whose values nobody needs is recorded as one that computes them, if sizes do not hang on these.
inline void compare_recordings(const Case& one, uint64_t seed, uint64_t key) {
  const Tensors inputs = drawn(one.given, seed, at::kDouble);
  const Recording first = listened(one, inputs, key, nullptr);
  if (!has_fixed_sizes(first.graph)) return;
  const Graph again = listened(one, inputs, key, &first).graph;
  CHECK(to_text(again) == to_text(first.graph));
  REQUIRE(again.values.size() == first.graph.values.size());
  for (ValueId id = 0; id < again.values.size(); ++id)
    CHECK(again.values[id].needs_grad == first.graph.values[id].needs_grad);
}

inline void compare(const Case& one) {
  CAPTURE(one.title);
  ltr::at(Location());  // other tests were somewhere
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
    compare_recordings(one, seed, key);
    compare_plans(one, seed, key);
  }
}

/// Of the type that floats have where it is called.
inline Tensor floats(const at::Tensor& numbers) { return give(numbers.to(aten(DType::Float))); }

/// `numbers` for the values of `x`, with its gradient.
inline Tensor valued(const Tensor& x, const at::Tensor& numbers) { return add(sub(x, stop_grad(x)), floats(numbers)); }

inline Tensor whole(std::initializer_list<int64_t> numbers, const Ints& sizes) {
  return give(at::tensor(std::vector<int64_t>(numbers), at::kLong).reshape(sizes));
}

}  // namespace ltr::plan::gradient_test
