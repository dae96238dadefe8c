#pragma once

// Arithmetic of host numbers as the language defines it, for everything that computes before the run: constants, dims,
// `plan`, the folding of IR. `runtime/facade/value.cpp` does the same while a program runs; `tests/run/host_math.py` holds
// the two against each other.

#include <cstdint>
#include <optional>
#include <variant>

#include "dsl/host/op.h"

namespace ltr::host {

using Number = std::variant<bool, int64_t, double>;

// Whole numbers. Nothing where the run would stop: a divisor of 0, a result outside of 64 bits.
std::optional<int64_t> exact_div(int64_t a, int64_t b);  ///< nothing if b does not divide a
std::optional<int64_t> floor_div(int64_t a, int64_t b);
std::optional<int64_t> ceil_div(int64_t a, int64_t b);
std::optional<int64_t> mod(int64_t a, int64_t b);  ///< in [0, |b|)
std::optional<int64_t> power(int64_t base, int64_t exponent);

/// The remainder in [0, |b|); nan where b is 0.
double mod(double a, double b);
/// A number without a fraction as an int; nothing for nan and what 64 bits do not hold.
std::optional<int64_t> whole(double value);

/// The value of an op of one or two numbers; nothing if it takes no such operands, or the run would stop. An int and a
/// float meet as floats.
std::optional<Number> fold(Op op, const Number& a);
std::optional<Number> fold(Op op, const Number& a, const Number& b);

}  // namespace ltr::host
