#include "dsl/host/math.h"

#include <cmath>

namespace ltr::host {

namespace {

using Result = std::optional<Number>;

Result of(std::optional<int64_t> value) { return value ? Result(*value) : std::nullopt; }

bool divides_badly(int64_t a, int64_t b) { return b == 0 || (a == INT64_MIN && b == -1); }

template <class T>
Result compare(Op op, const T& a, const T& b) {
  switch (op) {
    case Op::Equal: return a == b;
    case Op::NotEqual: return a != b;
    case Op::Less: return a < b;
    case Op::LessEqual: return a <= b;
    case Op::Greater: return a > b;
    case Op::GreaterEqual: return a >= b;
    default: return std::nullopt;
  }
}

Result fold_ints(Op op, int64_t a, int64_t b) {
  int64_t out = 0;
  switch (op) {
    case Op::Add: return __builtin_add_overflow(a, b, &out) ? Result() : Result(out);
    case Op::Sub: return __builtin_sub_overflow(a, b, &out) ? Result() : Result(out);
    case Op::Mul: return __builtin_mul_overflow(a, b, &out) ? Result() : Result(out);
    case Op::Div: return of(exact_div(a, b));
    case Op::FloorDiv: return of(floor_div(a, b));
    case Op::CeilDiv: return of(ceil_div(a, b));
    case Op::Mod: return of(mod(a, b));
    case Op::Power: return of(power(a, b));
    case Op::Min: return a < b ? a : b;
    case Op::Max: return a < b ? b : a;
    default: return compare(op, a, b);
  }
}

Result fold_floats(Op op, double a, double b) {
  switch (op) {
    case Op::Add: return a + b;
    case Op::Sub: return a - b;
    case Op::Mul: return a * b;
    case Op::Div: return a / b;
    case Op::Mod: return mod(a, b);
    case Op::Power:
    case Op::Pow: return std::pow(a, b);
    case Op::Min: return b < a ? b : a;
    case Op::Max: return a < b ? b : a;
    default: return compare(op, a, b);
  }
}

Result fold_bools(Op op, bool a, bool b) {
  switch (op) {
    case Op::And: return a && b;
    case Op::Or: return a || b;
    case Op::Equal: return a == b;
    case Op::NotEqual: return a != b;
    default: return std::nullopt;
  }
}

Result fold_float(Op op, double x) {
  switch (op) {
    case Op::Neg: return -x;
    case Op::Abs: return std::fabs(x);
    case Op::Floor: return of(whole(std::floor(x)));
    case Op::Ceil: return of(whole(std::ceil(x)));
    case Op::Round: return of(whole(std::nearbyint(x)));  // Halves go to the even number.
    case Op::Sqrt: return std::sqrt(x);
    case Op::Exp: return std::exp(x);
    case Op::Log: return std::log(x);
    case Op::Log1p: return std::log1p(x);
    case Op::Sin: return std::sin(x);
    case Op::Cos: return std::cos(x);
    case Op::Tanh: return std::tanh(x);
    case Op::Erf: return std::erf(x);
    default: return std::nullopt;
  }
}

}  // namespace

std::optional<int64_t> exact_div(int64_t a, int64_t b) {
  if (divides_badly(a, b) || a % b != 0) return std::nullopt;
  return a / b;
}

std::optional<int64_t> floor_div(int64_t a, int64_t b) {
  if (divides_badly(a, b)) return std::nullopt;
  return a / b - (a % b != 0 && (a < 0) != (b < 0) ? 1 : 0);
}

std::optional<int64_t> ceil_div(int64_t a, int64_t b) {
  if (divides_badly(a, b)) return std::nullopt;
  return a / b + (a % b != 0 && (a < 0) == (b < 0) ? 1 : 0);
}

std::optional<int64_t> mod(int64_t a, int64_t b) {
  if (b == 0) return std::nullopt;
  if (b == -1) return 0;  // The quotient of the least int would overflow.
  const int64_t rest = a % b;
  if (rest >= 0) return rest;
  return b < 0 ? rest - b : rest + b;
}

std::optional<int64_t> power(int64_t base, int64_t exponent) {
  if (exponent < 0) return std::nullopt;
  if (base == 0 || base == 1) return exponent == 0 ? 1 : base;
  if (base == -1) return exponent % 2 == 0 ? 1 : -1;
  int64_t result = 1;
  for (int64_t i = 0; i < exponent; ++i) {
    if (__builtin_mul_overflow(result, base, &result)) return std::nullopt;
  }
  return result;
}

double mod(double a, double b) {
  const double rest = std::fmod(a, b);
  return rest < 0 ? rest + std::fabs(b) : rest;
}

std::optional<int64_t> whole(double value) {
  constexpr double kEnd = 9223372036854775808.0;
  if (!(value >= -kEnd && value < kEnd)) return std::nullopt;
  return int64_t(value);
}

std::optional<Number> fold(Op op, const Number& a) {
  if (const bool* flag = std::get_if<bool>(&a)) return op == Op::Not ? Result(!*flag) : Result();
  const int64_t* number = std::get_if<int64_t>(&a);
  if (number == nullptr) return fold_float(op, std::get<double>(a));
  if (*number == INT64_MIN) return std::nullopt;
  switch (op) {
    case Op::Neg: return -*number;
    case Op::Abs: return *number < 0 ? -*number : *number;
    case Op::Floor:
    case Op::Ceil:
    case Op::Round: return *number;
    default: return fold_float(op, double(*number));
  }
}

std::optional<Number> fold(Op op, const Number& a, const Number& b) {
  const bool* flags[2] = {std::get_if<bool>(&a), std::get_if<bool>(&b)};
  if (flags[0] != nullptr || flags[1] != nullptr)
    return flags[0] != nullptr && flags[1] != nullptr ? fold_bools(op, *flags[0], *flags[1]) : Result();
  const int64_t* ints[2] = {std::get_if<int64_t>(&a), std::get_if<int64_t>(&b)};
  if (ints[0] != nullptr && ints[1] != nullptr) return fold_ints(op, *ints[0], *ints[1]);
  const auto real = [](const Number& one) {
    const int64_t* number = std::get_if<int64_t>(&one);
    return number != nullptr ? double(*number) : std::get<double>(one);
  };
  return fold_floats(op, real(a), real(b));
}

}  // namespace ltr::host
