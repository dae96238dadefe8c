#include "dsl/check/host_math.h"

#include <cmath>

namespace ltr::host {

namespace {

using Result = std::optional<Number>;

Result of(std::optional<int64_t> value) { return value ? Result(*value) : std::nullopt; }

bool divides_badly(int64_t a, int64_t b) { return b == 0 || (a == INT64_MIN && b == -1); }

template <class T>
Result compare(std::string_view name, const T& a, const T& b) {
  if (name == "==") return a == b;
  if (name == "!=") return a != b;
  if (name == "<") return a < b;
  if (name == "<=") return a <= b;
  if (name == ">") return a > b;
  if (name == ">=") return a >= b;
  return std::nullopt;
}

Result fold_ints(std::string_view name, int64_t a, int64_t b) {
  int64_t out = 0;
  if (name == "+") return __builtin_add_overflow(a, b, &out) ? Result() : Result(out);
  if (name == "-") return __builtin_sub_overflow(a, b, &out) ? Result() : Result(out);
  if (name == "*") return __builtin_mul_overflow(a, b, &out) ? Result() : Result(out);
  if (name == "/") return of(exact_div(a, b));
  if (name == "//") return of(floor_div(a, b));
  if (name == "ceil") return of(ceil_div(a, b));
  if (name == "%") return of(mod(a, b));
  if (name == "**") return of(power(a, b));
  if (name == "min") return a < b ? a : b;
  if (name == "max") return a < b ? b : a;
  return compare(name, a, b);
}

Result fold_floats(std::string_view name, double a, double b) {
  if (name == "+") return a + b;
  if (name == "-") return a - b;
  if (name == "*") return a * b;
  if (name == "/") return a / b;
  if (name == "%") return mod(a, b);
  if (name == "**" || name == "pow") return std::pow(a, b);
  if (name == "min") return b < a ? b : a;
  if (name == "max") return a < b ? b : a;
  return compare(name, a, b);
}

Result fold_bools(std::string_view name, bool a, bool b) {
  if (name == "and") return a && b;
  if (name == "or") return a || b;
  if (name == "==" || name == "!=") return compare(name, a, b);
  return std::nullopt;
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

std::optional<Number> fold(std::string_view name, const Number& a) {
  if (const bool* flag = std::get_if<bool>(&a)) return name == "not" ? Result(!*flag) : Result();
  if (const int64_t* number = std::get_if<int64_t>(&a)) {
    if (*number == INT64_MIN) return std::nullopt;
    if (name == "neg") return -*number;
    if (name == "abs") return *number < 0 ? -*number : *number;
    if (name == "floor" || name == "ceil" || name == "round") return *number;
    return fold(name, double(*number));
  }
  const double x = std::get<double>(a);
  if (name == "neg") return -x;
  if (name == "abs") return std::fabs(x);
  if (name == "floor") return of(whole(std::floor(x)));
  if (name == "ceil") return of(whole(std::ceil(x)));
  if (name == "round") return of(whole(std::nearbyint(x)));  // Halves go to the even number.
  if (name == "sqrt") return std::sqrt(x);
  if (name == "exp") return std::exp(x);
  if (name == "log") return std::log(x);
  if (name == "log1p") return std::log1p(x);
  if (name == "sin") return std::sin(x);
  if (name == "cos") return std::cos(x);
  if (name == "tanh") return std::tanh(x);
  if (name == "erf") return std::erf(x);
  return std::nullopt;
}

std::optional<Number> fold(std::string_view name, const Number& a, const Number& b) {
  const bool* flags[2] = {std::get_if<bool>(&a), std::get_if<bool>(&b)};
  if (flags[0] != nullptr || flags[1] != nullptr)
    return flags[0] != nullptr && flags[1] != nullptr ? fold_bools(name, *flags[0], *flags[1]) : Result();
  const int64_t* ints[2] = {std::get_if<int64_t>(&a), std::get_if<int64_t>(&b)};
  if (ints[0] != nullptr && ints[1] != nullptr) return fold_ints(name, *ints[0], *ints[1]);
  const auto real = [](const Number& one) {
    const int64_t* number = std::get_if<int64_t>(&one);
    return number != nullptr ? double(*number) : std::get<double>(one);
  };
  return fold_floats(name, real(a), real(b));
}

}  // namespace ltr::host
