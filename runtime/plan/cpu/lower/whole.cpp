// Whole numbers and doubles: comparisons and arithmetic, which floats would lose digits of.

#include "runtime/plan/cpu/lower/function.h"

namespace ltr::plan {

namespace {

/// A tensor over the sizes of the result, or a number.
template <class Number>
struct Operand {
  Layout layout;
  Number number = 0;
  bool is_number = false;
};

template <class Number>
constexpr DType kTypeOf = std::is_same_v<Number, double> ? DType::F64 : DType::I64;

/// Of an argument that is a number; nothing of one that a `Number` does not hold.
template <class Number>
Option<Number> number_of(const Argument& given) {
  if (const auto* whole = std::get_if<int64_t>(&given)) return Number(*whole);
  const auto* real = std::get_if<double>(&given);
  return real != nullptr && std::is_same_v<Number, double> ? Option<Number>(Number(*real)) : std::nullopt;
}

/// `apply(a, b)` of two, as `Result`.
template <class Number, class Result, class Apply>
bool binary(Lowering& to, const Apply& apply) {
  const Layout out = to.layout(to.result());
  Operand<Number> operands[2];
  std::vector<Touched> reads;
  bool by_samples = to.is_apart(out);
  for (size_t i = 0; i < 2; ++i) {
    const Argument& given = to.node().arguments[i];
    if (const Option<Number> number = number_of<Number>(given)) {
      operands[i].number = *number;
      operands[i].is_number = true;
      continue;
    }
    const auto* value = std::get_if<ValueRef>(&given);
    if (value == nullptr || to.dtype(value->id) != kTypeOf<Number>) return false;
    operands[i].layout = expanded(to.layout(value->id), out.sizes);
    reads.push_back(to.touched(operands[i].layout, by_samples));
  }
  const int64_t width = out.sizes.empty() ? 1 : out.sizes.back();
  const Rows rows{out.count() / width, width, by_samples && out.sizes.size() > 1};
  if (!rows.by_samples) {
    for (Touched& read : reads) read.is_own = false;
  }
  call(to, rows.split(), std::move(reads), {to.touched(out, rows.by_samples)}, named(to, out),
       [=, a = operands[0], b = operands[1]](Memory memory, const Part& part) {
         const auto [begin, end] = rows.of(part);
         // Where a row of the result begins in an operand, and how far its elements are apart.
         const auto at = [&](const Operand<Number>& of, int64_t row) -> const Number* {
           if (of.is_number) return &of.number;
           int64_t place = 0;
           for (size_t axis = out.sizes.size() > 0 ? out.sizes.size() - 1 : 0; axis-- > 0; row /= out.sizes[axis])
             place += row % out.sizes[axis] * of.layout.strides[axis];
           return reinterpret_cast<const Number*>(memory[of.layout.root]) + of.layout.offset + place;
         };
         const auto step = [](const Operand<Number>& of) {
           return of.is_number || of.layout.strides.empty() ? 0 : of.layout.strides.back();
         };
         const int64_t of_a = step(a), of_b = step(b);
         auto* into = reinterpret_cast<Result*>(memory[out.root]) + begin * rows.width;
         for (int64_t r = begin; r < end; ++r) {
           const Number *x = at(a, r), *y = at(b, r);
           for (int64_t i = 0; i < rows.width; ++i, x += of_a, y += of_b) *into++ = Result(apply(*x, *y));
         }
       });
  return true;
}

/// As each type of operands has it.
template <class OfWhole, class OfReal>
bool comparison(Lowering& to, const OfWhole& of_whole, const OfReal& of_real) {
  if (to.dtype(to.result()) != DType::Bool) return false;
  return binary<int64_t, bool>(to, of_whole) || binary<double, bool>(to, of_real);
}
template <class OfWhole, class OfReal>
bool arithmetic(Lowering& to, const OfWhole& of_whole, const OfReal& of_real) {
  if (to.dtype(to.result()) == DType::F64) return binary<double, double>(to, of_real);
  return to.dtype(to.result()) == DType::I64 && binary<int64_t, int64_t>(to, of_whole);
}

/// What a floored quotient by a number above 0 leaves.
bool whole_remainder(Lowering& to) {
  const auto* by = std::get_if<int64_t>(&to.node().arguments[1]);
  if (by == nullptr || *by <= 0 || to.dtype(to.result()) != DType::I64) return false;
  return binary<int64_t, int64_t>(to, [](int64_t x, int64_t y) { return x % y < 0 ? x % y + y : x % y; });
}

}  // namespace

bool lower_whole(Lowering& to) {
  // Sums and products that are too large begin anew, as LibTorch's do.
  using Bits = uint64_t;
  switch (to.node().op) {
#define LTR_WHOLE(op, function, whole, real) \
  case Op::op:                               \
  case Op::op##_number:                      \
  case Op::number_##op:                      \
    return function(to, [](int64_t x, int64_t y) { return whole; }, [](double x, double y) { return real; });
    LTR_WHOLE(eq, comparison, x == y, x == y)
    LTR_WHOLE(ne, comparison, x != y, x != y)
    LTR_WHOLE(lt, comparison, x < y, x < y)
    LTR_WHOLE(le, comparison, x <= y, x <= y)
    LTR_WHOLE(gt, comparison, x > y, x > y)
    LTR_WHOLE(ge, comparison, x >= y, x >= y)
    LTR_WHOLE(add, arithmetic, int64_t(Bits(x) + Bits(y)), x + y)
    LTR_WHOLE(sub, arithmetic, int64_t(Bits(x) - Bits(y)), x - y)
    LTR_WHOLE(mul, arithmetic, int64_t(Bits(x) * Bits(y)), x * y)
#undef LTR_WHOLE
    case Op::remainder_number: return whole_remainder(to);
    case Op::div:
    case Op::div_number:
    case Op::number_div:
      return to.dtype(to.result()) == DType::F64 &&
             binary<double, double>(to, [](double x, double y) { return x / y; });
    default: return false;
  }
}

}  // namespace ltr::plan
