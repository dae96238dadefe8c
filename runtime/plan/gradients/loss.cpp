// Gradients of losses, which reduce what they compare to a mean or a sum.

#include <cmath>

#include "runtime/plan/rule.h"

namespace ltr::plan {

namespace {

/// The gradient of each element before the reduction that argument `at` names.
Term each(Step& s, size_t at, const Term& of) {
  return s.host<Str>(at) == "mean" ? s.gradient() / double(of.count()) : s.gradient();
}

/// How many rows along `axis` there are.
int64_t rows_along(const Term& x, int64_t axis) {
  int64_t count = 1;
  Ints sizes = x.sizes();
  sizes[size_t(axis < 0 ? axis + x.dim() : axis)] = 1;
  for (const int64_t size : sizes) count *= size;
  return count;
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

/// Against probabilities: of each place softmax(x) Σ t - t, with t the probabilities as they are smoothed and weighted.
void soft_cross_entropy(Step& s) {
  const Term logits = s.in(0), probs = s.in(1), weight = s.in(2);
  const double smoothing = s.host<double>(3);
  const int64_t axis = logits.dim() == 1 ? 0 : 1, classes = logits.size(axis);
  const Term share = s.host<Str>(4) == "sum" ? s.gradient() : s.gradient() / double(logits.count() / classes);
  const Term log_probs = logits.call(Op::log_softmax, axis);
  const Term target = smoothing > 0 ? probs * (1 - smoothing) + smoothing / double(classes) : probs;
  Ints sizes(size_t(logits.dim()), 1);
  sizes[size_t(axis)] = classes;
  const auto weighted = [&](const Term& x) { return weight.is_defined() ? x * weight.call(Op::reshape, sizes) : x; };
  if (s.wants(0)) {
    const Term pull = weighted(target);
    s.give(0, (log_probs.call(Op::exp) * pull.call(Op::sum, axis, true) - pull) * share);
  }
  if (s.wants(1)) s.give(1, weighted(log_probs) * (share * (smoothing - 1)));
  if (s.wants(2)) s.give(2, -(log_probs * target * share).call(Op::sum_to, sizes).call(Op::reshape, weight.sizes()));
}

void mse(Step& s) {
  const Term slope = (s.in(0) - s.in(1)) * 2.0 * each(s, 2, s.in(0));
  if (s.wants(0)) s.give(0, slope);
  if (s.wants(1)) s.give(1, -slope);
}
void absolute(Step& s, size_t reduction) {
  const Term slope = (s.in(0) - s.in(1)).call(Op::sign) * each(s, reduction, s.in(0));
  if (s.wants(0)) s.give(0, slope);
  if (s.wants(1)) s.give(1, -slope);
}
void l1(Step& s) { absolute(s, 2); }
/// A square within `delta`, straight beyond; its slope is `scale` at the end of the square.
void bent(Step& s, double delta, double scale) {
  const Term slope = (s.in(0) - s.in(1)).call(Op::clamp, -delta, delta) * (scale / delta) * each(s, 3, s.in(0));
  if (s.wants(0)) s.give(0, slope);
  if (s.wants(1)) s.give(1, -slope);
}
void smooth_l1(Step& s) {
  const double beta = s.host<double>(2);
  if (beta > 0) return bent(s, beta, 1);
  absolute(s, 3);
}
void huber(Step& s) { bent(s, s.host<double>(2), s.host<double>(2)); }

/// log is cut off at -100, and its slope with it.
void bce(Step& s) {
  constexpr double kLeast = 1e-12F;  // a float in LibTorch
  const Term p = s.in(0), y = s.in(1), share = each(s, 2, p);
  if (s.wants(0)) s.give(0, (p - y) / ((1.0 - p) * p).call(Op::clamp, kLeast, std::monostate()) * share);
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

// ---- of classes that are far apart, of overlaps and of pairs

/// -(1 - p)^γ log p of the class that is meant: with d its slope by log p, that by the logits is d there less d softmax.
void focal(Step& s) {
  const Term logits = s.in(0), index = s.in(1).call_as(Op::unsqueeze, DType::I64, 1);
  const double gamma = s.host<double>(2);
  const Term log_probs = logits.call(Op::log_softmax, 1), log_p = log_probs.call(Op::gather, 1, index);
  const Term rest = 1.0 - log_p.call(Op::exp);
  Term slope = -rest.call(Op::pow_number, gamma);
  if (gamma != 0) slope = slope + log_p * (rest.call(Op::pow_number, gamma - 1) * gamma) * log_p.call(Op::exp);
  slope = slope * each(s, 3, s.in(1));
  s.give(0, (-(log_probs.call(Op::exp) * slope)).call(Op::scatter_add, 1, index, slope));
}

/// Of 1 - (2 Σ p y + e) / (Σ p + Σ y + e), for each row.
void dice(Step& s) {
  const Term p = s.in(0), y = s.in(1);
  const double smooth = s.host<double>(2);
  const auto along = [](const Term& x) { return x.call(Op::sum, 1, true); };
  const Term all = along(p) + along(y) + smooth, share = s.gradient() / (double(rows_along(p, 1)) * all);
  const Term ratio = (along(p * y) * 2.0 + smooth) / all;
  if (s.wants(0)) s.give(0, (ratio - y * 2.0) * share);
  if (s.wants(1)) s.give(1, (ratio - p * 2.0) * share);
}

/// x where the label is 1, what x leaves of the margin where it is -1; labels have no gradient.
void hinge(Step& s) {
  const Term x = s.in(0), y = s.in(1), share = each(s, 3, x);
  const double margin = s.host<double>(2);
  const Term is_near = (margin - x).call_as(Op::ge_number, DType::Bool, 0);
  const Term within = choose(y.call_as(Op::ne_number, DType::Bool, 1), choose(is_near, share, 0.0), 0.0);
  s.give(0, choose(y.call_as(Op::ne_number, DType::Bool, -1), share, 0.0) - within);
  s.stop(1);
}

void ctc_each(Step& s) {
  const std::vector<Argument>& taken = s.node().arguments;
  s.give(0, s.gradient().call(Op::ctc_backward, s.in(0), s.in(1), s.in(2), s.in(3), taken[4], taken[5]));
}

/// What a row is divided by at least.
constexpr double kLeastLength = 1e-12;
/// The cross entropy of cosines, in which row i of the one is the class of row i of the other.
void contrastive(Step& s) {
  struct Unit {
    Term length, rows;
  };
  const auto unit = [](const Term& x) {
    const Term length = x.call(Op::norm, 2.0, int64_t(1), true);
    return Unit{length, x / length.call(Op::clamp, kLeastLength, std::monostate())};
  };
  const Unit a = unit(s.in(0)), b = unit(s.in(1));
  const double temperature = s.host<double>(2);
  const Term scores = a.rows.call(Op::matmul, b.rows.call(Op::transpose, 0, 1)) / temperature;
  const Term place{s.builder(), s.builder().call(Op::arange, DType::I64, {s.in(0).size(0)})};
  const Term slope =
      s.gradient().call(Op::cross_entropy_backward, scores, place, Term(), std::monostate(), 0.0, Str("mean")) /
      temperature;
  // What makes a row longer changes nothing, unless it is so short that its length is taken for more.
  const auto back = [](const Unit& of, const Term& by_rows) {
    const Term along = of.rows * (by_rows * of.rows).call(Op::sum, 1, true);
    const Term is_long = of.length.call_as(Op::ge_number, DType::Bool, kLeastLength);
    return (by_rows - choose(is_long, along, 0.0)) / of.length.call(Op::clamp, kLeastLength, std::monostate());
  };
  if (s.wants(0)) s.give(0, back(a, slope.call(Op::matmul, b.rows)));
  if (s.wants(1)) s.give(1, back(b, slope.call(Op::transpose, 0, 1).call(Op::matmul, a.rows)));
}

/// Of cos = a b / sqrt((a² + e) (b² + e)): -1 where the target is 1, and 1 where it is -1 and cos is above the margin.
void cosine_embedding(Step& s) {
  constexpr double kAdded = 1e-12F;  // a float in LibTorch
  const Term a = s.in(0), b = s.in(1), y = s.in(2);
  const auto along = [](const Term& x, const Term& z) { return (x * z).call(Op::sum, -1, true); };
  const Term of_a = along(a, a) + kAdded, of_b = along(b, b) + kAdded;
  const Term length = (of_a * of_b).call(Op::sqrt), cos = along(a, b) / length;
  const Term share = each(s, 4, y), label = y.call(Op::unsqueeze, -1);
  const Term is_above = (cos - s.host<double>(3)).call_as(Op::ge_number, DType::Bool, 0);
  const Term apart = choose(label.call_as(Op::eq_number, DType::Bool, -1), choose(is_above, share, 0.0), 0.0);
  const Term slope = apart - choose(label.call_as(Op::eq_number, DType::Bool, 1), share, 0.0);
  if (s.wants(0)) s.give(0, (b / length - a * (cos / of_a)) * slope);
  if (s.wants(1)) s.give(1, (a / length - b * (cos / of_b)) * slope);
  s.stop(2);
}

/// The lengths are those of differences and 1e-6, of every element; one of length 0 has no slope.
void triplet_margin(Step& s) {
  const Term anchor = s.in(0);
  const auto apart = [&](const Term& from) { return anchor - from + 1e-6; };
  const auto length = [](const Term& x) { return x.call(Op::norm, 2.0, int64_t(-1), true); };
  const Term near = apart(s.in(1)), far = apart(s.in(2)), to_near = length(near), to_far = length(far);
  const Term share = s.host<Str>(4) == "sum" ? s.gradient() : s.gradient() / double(rows_along(anchor, -1));
  const Term counts = (s.host<double>(3) + to_near - to_far).call_as(Op::ge_number, DType::Bool, 0);
  const auto slope = [&](const Term& x, const Term& size) {
    const Term is_zero = size.call_as(Op::eq_number, DType::Bool, 0);
    return x * choose(is_zero, 0.0, choose(counts, share, 0.0) / size);
  };
  const Term by_near = slope(near, to_near), by_far = slope(far, to_far);
  if (s.wants(0)) s.give(0, by_near - by_far);
  if (s.wants(1)) s.give(1, -by_near);
  if (s.wants(2)) s.give(2, by_far);
}

constexpr RuleRow kLossRules[] = {
    {Op::cross_entropy, cross_entropy},
    {Op::soft_cross_entropy, soft_cross_entropy},
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
    {Op::focal, focal},
    {Op::dice, dice},
    {Op::hinge, hinge},
    {Op::ctc_each, ctc_each},
    {Op::contrastive, contrastive},
    {Op::cosine_embedding, cosine_embedding},
    {Op::triplet_margin, triplet_margin},
};

}  // namespace

std::span<const RuleRow> loss_rules() { return kLossRules; }

}  // namespace ltr::plan
