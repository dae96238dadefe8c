// Every gradient rule against LibTorch's autograd in f64: a function of the library, or a few, on operands of random sizes and strides.
//
// By hand, for a long run: LTR_RANDOM_RULES=1000-3000 runtime_tests -tc='every gradient rule*'

#include "runtime/plan/random_recording.h"
#include "runtime/plan/rule.h"

namespace ltr::plan::random_step {

namespace {

/// Of gradients whose elements are about 1; larger ones have it relative to their size.
constexpr double kRuleTolerance = 1e-9;
/// Each rule has met at least so many random cases.
constexpr int kLeastCases = 5;
/// Each of `kMakers` makes so many.
constexpr uint64_t kRulesTried = 300;

void compare_rules(uint64_t seed, Maker maker, Counts& cases) {
  CAPTURE(seed);
  RandomStep step(seed, false);
  const Option<Recorded> of = recorded(step, seed, [&] { grow_one(step, maker); });
  if (!of || of->seed == kNone) return;
  CAPTURE(to_text(of->graph));
  Graph graph = of->graph;
  const Found found = referred(*of, graph, at::kDouble);
  for (size_t i = 0; i < of->wanted.size(); ++i) {
    CAPTURE(of->given[i]);
    const at::Tensor& wanted = of->wanted[i];
    const ValueId id = of->gradients[i];
    // Where no rule says anything LibTorch may say 0.
    const at::Tensor gradient = id != kNone ? found.at(id) : at::zeros({}, at::kDouble);
    if (!wanted.defined()) {
      CHECK(id == kNone);
      continue;
    }
    if (id != kNone) REQUIRE(gradient.sizes() == wanted.sizes());
    const at::Tensor is_same = gradient.eq(wanted).logical_or(gradient.isnan().logical_and(wanted.isnan()));
    const at::Tensor apart =
        ((gradient - wanted).abs() / (1 + wanted.abs())).masked_fill(is_same, 0).nan_to_num(INFINITY);
    if (apart.numel() > 0) CHECK(apart.max().item<double>() <= kRuleTolerance);
  }
  count_ops(cases, of->graph, of->stretches[1].end, {of->loss}, true);
}

}  // namespace

TEST_CASE("every gradient rule gives autograd's gradient, whatever the sizes, strides and broadcasts") {
  const PolicyScope doubles(at::kDouble);
  Counts cases{};
  each_seed(1, kRulesTried * std::size(kMakers), "LTR_RANDOM_RULES",
            [&](uint64_t seed) { compare_rules(seed, kMakers[seed % std::size(kMakers)], cases); });
  for (size_t op = 0; op < kOps; ++op) {
    if (rule_of(Op(op)) == nullptr) continue;
    CAPTURE(Str(name_of(Op(op))));
    CHECK(cases[op] >= kLeastCases);
  }
}

}  // namespace ltr::plan::random_step
