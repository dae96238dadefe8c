// Gradients of functions that make one of many, along an axis or of all.

#include <cmath>
#include <limits>

#include "runtime/plan/rule.h"

namespace ltr::plan {

namespace {

/// The sizes of the argument with 1 where was reduced: argument 1 is the axis, or none.
Ints kept_sizes(const Step& s, const Ints& sizes) {
  const Option<int64_t> dim = s.optional<int64_t>(1);
  if (!dim) return Ints(sizes.size(), 1);
  Ints kept = sizes;
  if (!kept.empty()) kept[size_t(*dim < 0 ? *dim + int64_t(sizes.size()) : *dim)] = 1;
  return kept;
}
/// `value`, one for each that was reduced, as it broadcasts to the argument.
Term spread(Step& s, const Term& value) { return value.call(Op::reshape, kept_sizes(s, s.in(0).sizes())); }
/// How many became one.
int64_t width(Step& s) {
  const Option<int64_t> dim = s.optional<int64_t>(1);
  return !dim ? s.in(0).count() : s.in(0).dim() == 0 ? 1 : s.in(0).size(*dim);
}

void sum(Step& s) { s.give(0, spread(s, s.gradient()).call(Op::expand, s.in(0).sizes())); }
void mean(Step& s) { s.give(0, (spread(s, s.gradient()) / double(width(s))).call(Op::expand, s.in(0).sizes())); }

/// The slope of the variance: 2 (x - mean) / (n - 1), or n.
Term of_variance(Step& s) {
  const Term x = s.in(0);
  const double count = double(width(s)) - (s.host<bool>(3) ? 1 : 0);
  return (x - spread(s, x.call(Op::mean, s.node().arguments[1], true))) * (2 / count);
}
void var(Step& s) { s.give(0, spread(s, s.gradient()) * of_variance(s)); }
void deviation(Step& s) {
  const Term scaled = s.gradient() / (s.out() * 2.0);
  const Term is_zero = s.out().call_as(Op::eq_number, DType::Bool, 0.0);
  s.give(0, spread(s, choose(is_zero, 0.0, scaled)) * of_variance(s));
}

/// Of everything equal ones share it; along an axis it goes to the one that was found first.
void extreme_of(Step& s, Op place) {
  const Term x = s.in(0);
  if (const Option<int64_t> dim = s.optional<int64_t>(1); dim && x.dim() > 0) {
    const Term index = x.call_as(place, DType::I64, *dim, true);
    return s.give(0, zeros_as(x, x.sizes()).call(Op::scatter_add, *dim, index, spread(s, s.gradient())));
  }
  const Term is_it = x.call_as(Op::eq, DType::Bool, s.out().call(Op::reshape, Ints{}));
  const Term mask = is_it.call_as(Op::to, x.dtype(), Str(to_text(x.dtype())));
  const Term share = s.gradient().call(Op::reshape, Ints{}) / mask.call(Op::sum, std::monostate(), false);
  s.give(0, mask * share);
}
void max(Step& s) { extreme_of(s, Op::argmax); }
void min(Step& s) { extreme_of(s, Op::argmin); }

void logsumexp(Step& s) { s.give(0, spread(s, s.gradient()) * (s.in(0) - spread(s, s.out())).call(Op::exp)); }

/// Of the p-norm: sign(x) (|x| / norm)^(p - 1), and 0 where the norm is; of the largest |x| equal ones share it.
void norm(Step& s) {
  const Term x = s.in(0);
  const double p = s.host<double>(1);
  const bool has_dim = s.optional<int64_t>(2).has_value() && x.dim() > 0;
  Ints kept(x.sizes().size(), 1);
  if (has_dim) {
    const int64_t dim = *s.optional<int64_t>(2);
    kept = x.sizes();
    kept[size_t(dim < 0 ? dim + x.dim() : dim)] = 1;
  }
  const Term all = s.out().call(Op::reshape, kept), gradient = s.gradient().call(Op::reshape, kept);
  if (p == 0) return s.stop(0);  // a count
  if (p == 1) return s.give(0, gradient * x.call(Op::sign));
  if (std::isinf(p)) {
    const Term is_it =
        x.call(Op::abs).call_as(Op::eq, DType::Bool, all).call_as(Op::to, x.dtype(), Str(to_text(x.dtype())));
    return s.give(0, gradient / is_it.call(Op::sum_to, kept) * (x.call(Op::sign) * is_it));
  }
  const Term is_zero = all.call_as(Op::eq_number, DType::Bool, 0.0);
  if (p == 2) return s.give(0, x * choose(is_zero, 0.0, gradient / all));
  // Of a negative p one element of 0 makes the norm 0 whatever the others are.
  const Term share = (x.call(Op::abs) / choose(is_zero, 1.0, all)).call(Op::pow_number, p - 1);
  const Term flow = x.call(Op::sign) * share;
  s.give(0, choose(is_zero, 0.0, gradient) * choose(x.call_as(Op::eq_number, DType::Bool, 0.0), 0.0, flow));
}

void cumsum(Step& s) {
  const int64_t dim = s.host<int64_t>(1);
  s.give(0, s.gradient().call(Op::flip, Ints{dim}).call(Op::cumsum, dim).call(Op::flip, Ints{dim}));
}

/// With dim: along it, each the product of those before it.
Term products_before(const Term& x, Ints sizes, int64_t dim) {
  sizes[size_t(dim)] = 1;
  const std::vector<ValueRef> parts{{(zeros_as(x, sizes) + 1.0).id()},
                                    {x.call(Op::slice, dim, int64_t(0), int64_t(-1)).id()}};
  const Term shifted{x.builder(), x.builder().call(Op::cat, x.dtype(), {parts, dim})};
  return shifted.call(Op::cumprod, dim);
}
/// Of each the product of all others: those before it and those behind it. Nothing is divided, so a zero is like any number.
void prod(Step& s) {
  const Term x = s.in(0), gradient = spread(s, s.gradient());
  if (width(s) <= 1 || x.count() == 0) return s.give(0, gradient.call(Op::expand, x.sizes()));
  const Option<int64_t> given = s.optional<int64_t>(1);
  const int64_t dim = !given ? 0 : *given < 0 ? *given + x.dim() : *given;
  const Ints sizes = given ? x.sizes() : Ints{x.count()};
  const Term line = x.call(Op::reshape, sizes);
  const Term behind = products_before(line.call(Op::flip, Ints{dim}), sizes, dim).call(Op::flip, Ints{dim});
  s.give(0, gradient * (products_before(line, sizes, dim) * behind).call(Op::reshape, x.sizes()));
}
void cumprod(Step& s) { s.give(0, s.gradient().call(Op::cumprod_backward, s.in(0), s.host<int64_t>(1))); }

/// exp(x) times the sum of gradient / exp(out) over what comes behind: in logarithms, so gradients above 0 apart from those below.
void logcumsumexp(Step& s) {
  const Term x = s.in(0);
  if (x.dim() == 0) return s.give(0, s.gradient());
  const int64_t dim = s.host<int64_t>(1);
  const double nothing =
      x.dtype() == DType::F64 ? std::numeric_limits<double>::lowest() : double(std::numeric_limits<float>::lowest());
  const Term size = s.gradient().call(Op::abs).call(Op::log);
  const auto part = [&](Op side) {
    const Term each = choose(s.gradient().call_as(side, DType::Bool, 0.0), size, nothing) - s.out();
    const Term sums = each.call(Op::flip, Ints{dim}).call(Op::logcumsumexp, dim).call(Op::flip, Ints{dim});
    return (sums + x).call(Op::exp);
  };
  s.give(0, part(Op::gt_number) - part(Op::lt_number));
}

/// Of `topk` and `sort`: back to where they came from.
void ordered(Step& s, size_t dim_at) {
  const Term x = s.in(0);
  s.give(0, zeros_as(x, x.sizes()).call(Op::scatter_add, s.host<int64_t>(dim_at), s.out(1), s.gradient()));
}

constexpr RuleRow kReductionRules[] = {
    {Op::sum, sum},
    {Op::mean, mean},
    {Op::var, var},
    {Op::std_, deviation},
    {Op::max, max},
    {Op::min, min},
    {Op::logsumexp, logsumexp},
    {Op::norm, norm},
    {Op::prod, prod},
    {Op::cumsum, cumsum},
    {Op::cumprod, cumprod},
    {Op::logcumsumexp, logcumsumexp},
    {Op::topk, [](Step& s) { ordered(s, 2); }},
    {Op::sort, [](Step& s) { ordered(s, 1); }},
};

}  // namespace

std::span<const RuleRow> reduction_rules() { return kReductionRules; }

}  // namespace ltr::plan
