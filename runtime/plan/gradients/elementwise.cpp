// Gradients of element-wise functions: derivatives by hand, of the result where it says them with less.

#include <cmath>
#include <numbers>

#include "runtime/plan/rule.h"

namespace ltr::plan {

namespace {

/// The number behind a tensor.
double number(const Step& s, size_t at) {
  const Option<double> real = s.optional<double>(at);
  return real ? *real : double(s.host<int64_t>(at));
}
Term compared(Op op, const Term& a, double b) { return a.call_as(op, DType::Bool, b); }
Term compared(Op op, const Term& a, const Term& b) { return a.call_as(op, DType::Bool, b); }

void same(Step& s) { s.give(0, s.gradient()); }
void same_behind(Step& s) { s.give(1, s.gradient()); }
/// 0 everywhere, but there.
void flat(Step& s) { s.give(0, zeros_as(s.in(0), s.in(0).sizes())); }

// ---- arithmetic

void add(Step& s) {
  if (s.wants(0)) s.give_summed(0, s.gradient());
  if (s.wants(1)) s.give_summed(1, s.gradient());
}
void sub(Step& s) {
  if (s.wants(0)) s.give_summed(0, s.gradient());
  if (s.wants(1)) s.give_summed(1, -s.gradient());
}
void mul(Step& s) {
  if (s.wants(0)) s.give_summed(0, s.gradient() * s.in(1));
  if (s.wants(1)) s.give_summed(1, s.gradient() * s.in(0));
}
void div(Step& s) {
  if (s.wants(0)) s.give_summed(0, s.gradient() / s.in(1));
  if (s.wants(1)) s.give_summed(1, -(s.gradient() * s.out()) / s.in(1));
}
/// The whole number that a remainder leaves out, times -1: from what is left, since a / b itself may round up to the next one.
void remainder(Step& s) {
  if (s.wants(0)) s.give_summed(0, s.gradient());
  if (s.wants(1)) s.give_summed(1, s.gradient() * ((s.out() - s.in(0)) / s.in(1)).call(Op::round));
}
void number_remainder(Step& s) { s.give(1, s.gradient() * ((s.out() - number(s, 0)) / s.in(1)).call(Op::round)); }
void mul_number(Step& s) { s.give(0, s.gradient() * number(s, 1)); }
void number_mul(Step& s) { s.give(1, s.gradient() * number(s, 0)); }
void number_sub(Step& s) { s.give(1, -s.gradient()); }
void div_number(Step& s) { s.give(0, s.gradient() / number(s, 1)); }
void number_div(Step& s) { s.give(1, -(s.gradient() * s.out()) / s.in(1)); }
void neg(Step& s) { s.give(0, -s.gradient()); }

/// x to the y: where y is 0 the power is 1 whatever x is, and where x is 0 its logarithm is no matter.
void pow(Step& s) {
  const Term x = s.in(0), y = s.in(1);
  if (s.wants(0)) {
    const Term slope = s.gradient() * y * x.call(Op::pow, y - 1.0);
    s.give_summed(0, choose(compared(Op::eq_number, y, 0), 0.0, slope));
  }
  if (s.wants(1)) {
    const Term slope = s.gradient() * s.out() * x.call(Op::log);
    const Term is_zero = compared(Op::eq_number, x, 0).call(Op::logical_and, compared(Op::ge_number, y, 0));
    s.give_summed(1, choose(is_zero, 0.0, slope));
  }
}
void pow_number(Step& s) {
  const double n = number(s, 1);
  if (n == 0) return flat(s);
  s.give(0, s.gradient() * s.in(0).call(Op::pow_number, n - 1) * n);
}
void number_pow(Step& s) {
  const double base = number(s, 0);
  const Term slope = s.gradient() * s.out() * std::log(base);
  s.give(1, base == 0 ? choose(compared(Op::ge_number, s.in(1), 0), 0.0, slope) : slope);
}

/// Equal ones share it.
void extreme(Step& s, Op first_wins) {
  const Term a = s.in(0), b = s.in(1), half = s.gradient() * 0.5;
  const Term is_equal = compared(Op::eq, a, b), is_first = compared(first_wins, a, b);
  const Term of_first = choose(is_equal, half, choose(is_first, s.gradient(), 0.0));
  if (s.wants(0)) s.give_summed(0, of_first);
  if (s.wants(1)) s.give_summed(1, s.gradient() - of_first);
}
void maximum(Step& s) { extreme(s, Op::gt); }
void minimum(Step& s) { extreme(s, Op::lt); }
void extreme_number(Step& s, size_t at, Op wins) {
  const Term x = s.in(at);
  const double other = number(s, 1 - at);
  s.give(at, choose(compared(Op::eq_number, x, other), s.gradient() * 0.5,
                    choose(compared(wins, x, other), s.gradient(), 0.0)));
}

void clamp(Step& s) {
  Term gradient = s.gradient();
  if (const auto low = s.optional<double>(1)) gradient = choose(compared(Op::ge_number, s.in(0), *low), gradient, 0.0);
  if (const auto high = s.optional<double>(2))
    gradient = choose(compared(Op::le_number, s.in(0), *high), gradient, 0.0);
  s.give(0, gradient);
}
void where(Step& s) {
  if (s.wants(1)) s.give_summed(1, choose(s.in(0), s.gradient(), 0.0));
  if (s.wants(2)) s.give_summed(2, choose(s.in(0), 0.0, s.gradient()));
}
void where_number(Step& s) { s.give_summed(1, choose(s.in(0), s.gradient(), 0.0)); }
void number_where(Step& s) { s.give_summed(2, choose(s.in(0), 0.0, s.gradient())); }
void masked_fill(Step& s) { s.give_summed(0, choose(s.in(1), 0.0, s.gradient())); }
void to(Step& s) { s.give(0, s.gradient().call_as(Op::to, s.in(0).dtype(), Str(to_text(s.in(0).dtype())))); }

// ---- functions

void exp(Step& s) { s.give(0, s.gradient() * s.out()); }
void log(Step& s) { s.give(0, s.gradient() / s.in(0)); }
void log1p(Step& s) { s.give(0, s.gradient() / (s.in(0) + 1.0)); }
void sqrt(Step& s) { s.give(0, s.gradient() / (s.out() * 2.0)); }
void rsqrt(Step& s) { s.give(0, s.gradient() * s.out() * s.out() * s.out() * -0.5); }
void square(Step& s) { s.give(0, s.gradient() * s.in(0) * 2.0); }
void sin(Step& s) { s.give(0, s.gradient() * s.in(0).call(Op::cos)); }
void cos(Step& s) { s.give(0, -(s.gradient() * s.in(0).call(Op::sin))); }
void tanh(Step& s) { s.give(0, s.gradient() * (1.0 - s.out() * s.out())); }
void sigmoid(Step& s) { s.give(0, s.gradient() * s.out() * (1.0 - s.out())); }
void erf(Step& s) { s.give(0, s.gradient() * (-(s.in(0) * s.in(0))).call(Op::exp) * (2.0 * std::numbers::inv_sqrtpi)); }
void abs(Step& s) { s.give(0, s.gradient() * s.in(0).call(Op::sign)); }

// ---- activations

void relu(Step& s) { s.give(0, choose(compared(Op::gt_number, s.out(), 0), s.gradient(), 0.0)); }
void relu6(Step& s) {
  const Term above = choose(compared(Op::gt_number, s.in(0), 0), s.gradient(), 0.0);
  s.give(0, choose(compared(Op::lt_number, s.in(0), 6), above, 0.0));
}
void gelu(Step& s) { s.give(0, s.gradient().call(Op::gelu_backward, s.in(0), s.host<Str>(1))); }
Term silu_slope(const Term& x) {
  const Term share = x.call(Op::sigmoid);
  return share * (x * (1.0 - share) + 1.0);
}
void silu(Step& s) { s.give(0, s.gradient() * silu_slope(s.in(0))); }
void mish(Step& s) {
  const Term x = s.in(0), t = x.call(Op::softplus, 1.0).call(Op::tanh);
  s.give(0, s.gradient() * (t + x * x.call(Op::sigmoid) * (1.0 - t * t)));
}
/// scale x above 0, else scale alpha (exp(x) - 1).
void elu_of(Step& s, double scale, double alpha) {
  const Term below = s.out() + scale * alpha;
  s.give(0,
         s.gradient() * choose(compared(Op::gt_number, s.in(0), 0), zeros_as(s.in(0), s.in(0).sizes()) + scale, below));
}
void elu(Step& s) { elu_of(s, 1, number(s, 1)); }
// Klambauer et al. 2017.
void selu(Step& s) { elu_of(s, 1.0507009873554804934193349852946, 1.6732632423543772848170429916717); }
void leaky_relu(Step& s) {
  s.give(0, choose(compared(Op::gt_number, s.in(0), 0), s.gradient(), s.gradient() * number(s, 1)));
}
void prelu(Step& s) {
  const Term x = s.in(0), weight = s.in(1), is_above = compared(Op::gt_number, x, 0);
  // One weight for all, or one for each of axis 1.
  Ints sizes(size_t(x.dim()), 1);
  if (weight.count() > 1) sizes[x.dim() > 1 ? 1 : 0] = weight.count();
  if (s.wants(0)) s.give(0, choose(is_above, s.gradient(), s.gradient() * weight.call(Op::reshape, sizes)));
  if (s.wants(1)) {
    const Term each = choose(is_above, 0.0, s.gradient() * x);
    s.give(1, each.call(Op::sum_to, sizes).call(Op::reshape, weight.sizes()));
  }
}
void softplus(Step& s) { s.give(0, s.gradient() * (s.in(0) * number(s, 1)).call(Op::sigmoid)); }
void logsigmoid(Step& s) { s.give(0, s.gradient() * (-s.in(0)).call(Op::sigmoid)); }
void hardswish(Step& s) {
  const Term x = s.in(0), middle = s.gradient() * (x / 3.0 + 0.5);
  s.give(0, choose(compared(Op::le_number, x, -3), 0.0, choose(compared(Op::ge_number, x, 3), s.gradient(), middle)));
}
/// The halves of the last axis.
std::pair<Term, Term> halves(const Term& x) {
  const int64_t half = x.size(-1) / 2;
  return {x.call(Op::slice, -1, int64_t(0), half), x.call(Op::slice, -1, half, 2 * half)};
}
Term joined(const Term& a, const Term& b) {
  return {a.builder(), a.builder().call(Op::cat, a.dtype(), {std::vector<ValueRef>{{a.id()}, {b.id()}}, int64_t(-1)})};
}
void glu(Step& s) {
  const auto [value, gate] = halves(s.in(0));
  const Term share = gate.call(Op::sigmoid);
  s.give(0, joined(s.gradient() * share, s.gradient() * value * share * (1.0 - share)));
}
void swiglu(Step& s) {
  const auto [gate, value] = halves(s.in(0));
  s.give(0, joined(s.gradient() * value * silu_slope(gate), s.gradient() * gate.call(Op::silu)));
}
void softmax(Step& s) {
  const Term each = s.gradient() * s.out();
  s.give(0, each - s.out() * each.call(Op::sum, s.host<int64_t>(1), true));
}
void log_softmax(Step& s) {
  s.give(0, s.gradient() - s.out().call(Op::exp) * s.gradient().call(Op::sum, s.host<int64_t>(1), true));
}
/// The mask is drawn again, at the same site.
void dropout(Step& s) { s.give(0, s.redrawn(Op::dropout_backward, {ValueRef{s.gradient().id()}, s.host<double>(1)})); }
void dropout2d(Step& s) {
  s.give(0, s.redrawn(Op::dropout2d_backward, {ValueRef{s.gradient().id()}, s.host<double>(1)}));
}

constexpr RuleRow kElementwiseRules[] = {
    {Op::add, add},
    {Op::add_number, same},
    {Op::number_add, same_behind},
    {Op::sub, sub},
    {Op::sub_number, same},
    {Op::number_sub, number_sub},
    {Op::mul, mul},
    {Op::mul_number, mul_number},
    {Op::number_mul, number_mul},
    {Op::div, div},
    {Op::div_number, div_number},
    {Op::number_div, number_div},
    {Op::remainder, remainder},
    {Op::remainder_number, same},
    {Op::number_remainder, number_remainder},
    {Op::pow, pow},
    {Op::pow_number, pow_number},
    {Op::number_pow, number_pow},
    {Op::maximum, maximum},
    {Op::minimum, minimum},
    {Op::maximum_number, [](Step& s) { extreme_number(s, 0, Op::gt_number); }},
    {Op::number_maximum, [](Step& s) { extreme_number(s, 1, Op::gt_number); }},
    {Op::minimum_number, [](Step& s) { extreme_number(s, 0, Op::lt_number); }},
    {Op::number_minimum, [](Step& s) { extreme_number(s, 1, Op::lt_number); }},
    {Op::clamp, clamp},
    {Op::where, where},
    {Op::where_number, where_number},
    {Op::number_where, number_where},
    {Op::masked_fill, masked_fill},
    {Op::to, to},
    {Op::neg, neg},
    {Op::exp, exp},
    {Op::log, log},
    {Op::log1p, log1p},
    {Op::sqrt, sqrt},
    {Op::rsqrt, rsqrt},
    {Op::square, square},
    {Op::sin, sin},
    {Op::cos, cos},
    {Op::tanh, tanh},
    {Op::sigmoid, sigmoid},
    {Op::erf, erf},
    {Op::abs, abs},
    {Op::floor, flat},
    {Op::ceil, flat},
    {Op::round, flat},
    {Op::sign, flat},
    {Op::clone, same},
    {Op::tracked, same},
    {Op::relu, relu},
    {Op::relu6, relu6},
    {Op::gelu, gelu},
    {Op::silu, silu},
    {Op::mish, mish},
    {Op::elu, elu},
    {Op::selu, selu},
    {Op::leaky_relu, leaky_relu},
    {Op::prelu, prelu},
    {Op::softplus, softplus},
    {Op::logsigmoid, logsigmoid},
    {Op::hardswish, hardswish},
    {Op::glu, glu},
    {Op::swiglu, swiglu},
    {Op::softmax, softmax},
    {Op::log_softmax, log_softmax},
    {Op::dropout, dropout},
    {Op::dropout2d, dropout2d},
};

}  // namespace

std::span<const RuleRow> elementwise_rules() { return kElementwiseRules; }

}  // namespace ltr::plan
