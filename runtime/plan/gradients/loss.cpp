// Gradients of losses, which reduce what they compare to a mean or a sum.

#include <cmath>

#include "runtime/plan/rule.h"

namespace ltr::plan {

namespace {

/// The gradient of each element before the reduction that argument `at` names.
Term each(Step& s, size_t at, const Term& of) {
  return s.host<Str>(at) == "sum" ? s.gradient() : s.gradient() / double(of.count());
}

void cross_entropy(Step& s) {
  const Node& node = s.node();
  s.give(0, s.gradient().call(Op::cross_entropy_backward, s.in(0), s.in(1), s.in(2), node.arguments[3],
                              node.arguments[4], node.arguments[5]));
}
void nll(Step& s) {
  s.give(0,
         s.gradient().call(Op::nll_backward, s.in(0), s.in(1), s.in(2), s.node().arguments[3], s.node().arguments[4]));
}

void mse(Step& s) {
  const Term slope = (s.in(0) - s.in(1)) * 2.0 * each(s, 2, s.in(0));
  if (s.wants(0)) s.give(0, slope);
  if (s.wants(1)) s.give(1, -slope);
}
void l1(Step& s) {
  const Term slope = (s.in(0) - s.in(1)).call(Op::sign) * each(s, 2, s.in(0));
  if (s.wants(0)) s.give(0, slope);
  if (s.wants(1)) s.give(1, -slope);
}
/// A square within `delta`, straight beyond; its slope is `scale` at the end of the square.
void bent(Step& s, double delta, double scale) {
  const Term difference = s.in(0) - s.in(1);
  const Term share = each(s, 3, s.in(0));
  const Term slope =
      delta == 0 ? difference.call(Op::sign) : difference.call(Op::clamp, -delta, delta) * (scale / delta);
  if (s.wants(0)) s.give(0, slope * share);
  if (s.wants(1)) s.give(1, -(slope * share));
}
void smooth_l1(Step& s) { bent(s, s.host<double>(2), 1); }
void huber(Step& s) { bent(s, s.host<double>(2), s.host<double>(2)); }

/// log is cut off at -100, and its slope with it.
void bce(Step& s) {
  const Term p = s.in(0), y = s.in(1), share = each(s, 2, p);
  if (s.wants(0)) s.give(0, (p - y) / ((1.0 - p) * p).call(Op::clamp, 1e-12, std::monostate()) * share);
  if (s.wants(1)) {
    const auto cut = [](const Term& x) { return x.call(Op::log).call(Op::clamp, -100.0, std::monostate()); };
    s.give(1, (cut(1.0 - p) - cut(p)) * share);
  }
}
void bce_with_logits(Step& s) {
  const Term x = s.in(0), y = s.in(1), weight = s.in(2), share = each(s, 3, x);
  if (s.wants(0)) {
    const Term p = x.call(Op::sigmoid);
    const Term slope = weight.is_defined() ? (1.0 - y) * p - weight * y * (1.0 - p) : p - y;
    s.give(0, slope * share);
  }
  if (s.wants(1)) {
    // -w y log p - (1 - y) log(1 - p), by y.
    const Term of_one = x.call(Op::logsigmoid), of_zero = (-x).call(Op::logsigmoid);
    s.give(1, (of_zero - (weight.is_defined() ? weight * of_one : of_one)) * share);
  }
}

void kl_div(Step& s) {
  const Term log_probs = s.in(0), probs = s.in(1);
  const bool by_batch = s.host<Str>(2) == "batchmean";
  const Term share = by_batch ? s.gradient() / double(probs.dim() > 0 ? probs.size(0) : 1) : each(s, 2, log_probs);
  if (s.wants(0)) s.give(0, -(probs * share));
  if (s.wants(1)) {
    const Term slope = probs.call(Op::log) + 1.0 - log_probs;
    s.give(1, choose(probs.call_as(Op::gt_number, DType::Bool, 0.0), slope, 0.0) * share);
  }
}
void poisson_nll(Step& s) {
  const Term share = each(s, 2, s.in(0));
  if (s.wants(0)) s.give(0, (s.in(0).call(Op::exp) - s.in(1)) * share);
  if (s.wants(1)) s.give(1, -(s.in(0) * share));
}
/// The floor of the variance lets the gradient pass.
void gaussian_nll(Step& s) {
  const Term x = s.in(0), y = s.in(1), variance = s.in(2).call(Op::clamp, s.host<double>(3), std::monostate());
  const Term share = each(s, 4, x);
  const Term difference = x - y, slope = difference / variance * share;
  if (s.wants(0)) s.give(0, slope);
  if (s.wants(1)) s.give(1, -slope);
  if (s.wants(2)) {
    const Term by_variance = (variance - difference * difference) / (variance * variance) * 0.5 * share;
    s.give(2, by_variance.call(Op::sum_to, s.in(2).sizes()));
  }
}

constexpr RuleRow kLossRules[] = {
    {Op::cross_entropy, cross_entropy},
    {Op::nll, nll},
    {Op::mse, mse},
    {Op::l1, l1},
    {Op::smooth_l1, smooth_l1},
    {Op::huber, huber},
    {Op::bce, bce},
    {Op::bce_with_logits, bce_with_logits},
    {Op::kl_div, kl_div},
    {Op::poisson_nll, poisson_nll},
    {Op::gaussian_nll, gaussian_nll},
};

}  // namespace

std::span<const RuleRow> loss_rules() { return kLossRules; }

}  // namespace ltr::plan
