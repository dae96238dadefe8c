// Gradients of norms of values: of the input, and of the weights behind it.

#include "runtime/plan/rule.h"

namespace ltr::plan {

namespace {

void give_three(Step& s, const std::vector<ValueId>& found) {
  for (size_t i = 0; i < 3; ++i) s.give(i, {s.builder(), found[i]});
}

void layer_norm(Step& s) {
  give_three(s, s.builder().call(
                    Op::layer_norm_backward, s.gradient().dtype(), 3,
                    {ValueRef{s.gradient().id()}, ValueRef{s.in(0).id()}, ValueRef{s.in(1).id()}, s.host<double>(3)}));
}

/// x times 1 / rms; with r of it the gradient of x is r g - x r³ mean(g x).
void rms_norm(Step& s) {
  const Term x = s.in(0), weight = s.in(1);
  const double eps = s.optional<double>(2).value_or(x.dtype() == DType::F64 ? 0x1p-52 : 0x1p-23);
  const Term r = (x.call(Op::square).call(Op::mean, int64_t(-1), true) + eps).call(Op::rsqrt);
  const Term g = weight.is_defined() ? s.gradient() * weight : s.gradient();
  if (s.wants(0)) s.give(0, r * g - x * (r * r * r) * (g * x).call(Op::mean, int64_t(-1), true));
  if (s.wants(1)) s.give(1, (s.gradient() * x * r).call(Op::sum_to, weight.sizes()));
}

void group_norm(Step& s) {
  const std::vector<ValueId> found = s.builder().call(Op::group_norm_backward, s.gradient().dtype(), 3,
                                                      {ValueRef{s.gradient().id()}, ValueRef{s.in(0).id()},
                                                       s.host<int64_t>(1), ValueRef{s.in(2).id()}, s.host<double>(4)});
  if (s.wants(0)) s.give(0, {s.builder(), found[0]});
  if (s.wants(2)) s.give(2, {s.builder(), found[1]});
  if (s.wants(3)) s.give(3, {s.builder(), found[2]});
}
/// Each channel is a group.
void instance_norm(Step& s) {
  give_three(s, s.builder().call(Op::group_norm_backward, s.gradient().dtype(), 3,
                                 {ValueRef{s.gradient().id()}, ValueRef{s.in(0).id()}, s.in(0).size(1),
                                  ValueRef{s.in(1).id()}, s.host<double>(3)}));
}

/// In training of the batch's own mean and variance, in evaluation of the running ones.
void batch_norm(Step& s) {
  const Node& node = s.node();
  const ValueId first = s.redrawn(Op::batch_norm_backward, 3,
                                  {ValueRef{s.gradient().id()}, node.arguments[0], node.arguments[1], node.arguments[3],
                                   node.arguments[4], s.host<double>(7)});
  give_three(s, {first, first + 1, first + 2});
}

constexpr RuleRow kNormalizationRules[] = {
    {Op::layer_norm, layer_norm},       {Op::rms_norm, rms_norm},     {Op::group_norm, group_norm},
    {Op::instance_norm, instance_norm}, {Op::batch_norm, batch_norm},
};

}  // namespace

std::span<const RuleRow> normalization_rules() { return kNormalizationRules; }

}  // namespace ltr::plan
