#pragma once

// Arithmetic of host numbers as the language defines it.

#include "ltr/tensor.h"

namespace ltr {

/// R1006: `a op b` of host ints is more than 64 bits hold.
[[noreturn]] LTR_EXPORT void fail_overflow(int64_t a, const char* op, int64_t b, const Location& location);
inline int64_t int_add(int64_t a, int64_t b, const Location& location) {
  int64_t sum = 0;
  if (__builtin_add_overflow(a, b, &sum)) fail_overflow(a, "+", b, location);
  return sum;
}
inline int64_t int_sub(int64_t a, int64_t b, const Location& location) {
  int64_t difference = 0;
  if (__builtin_sub_overflow(a, b, &difference)) fail_overflow(a, "-", b, location);
  return difference;
}
inline int64_t int_mul(int64_t a, int64_t b, const Location& location) {
  int64_t product = 0;
  if (__builtin_mul_overflow(a, b, &product)) fail_overflow(a, "*", b, location);
  return product;
}
inline int64_t int_abs(int64_t a, const Location& location) { return a < 0 ? int_sub(0, a, location) : a; }

/// A quotient that is whole (R2013 if it is none), rounded down and up; the remainder that is not negative.
LTR_EXPORT int64_t exact_div(int64_t a, int64_t b, const Location& location);
LTR_EXPORT int64_t floor_div(int64_t a, int64_t b, const Location& location);
LTR_EXPORT int64_t ceil_div(int64_t a, int64_t b, const Location& location);
LTR_EXPORT int64_t mod(int64_t a, int64_t b, const Location& location);
LTR_EXPORT int64_t int_pow(int64_t base, int64_t exponent, const Location& location);
LTR_EXPORT double real_mod(double a, double b);
LTR_EXPORT double real_pow(double base, double exponent);
/// A number without a fraction as an int; R1006 for nan and what 64 bits do not hold.
LTR_EXPORT int64_t whole(double value, const Location& location);

/// `to`, where `[… for i in from .. to]` ends; R1006 for more than 1,000,000,000 elements.
LTR_EXPORT int64_t list_end(int64_t from, int64_t to, const Location& location);

}  // namespace ltr
