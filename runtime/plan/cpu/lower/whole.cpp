// Whole numbers: comparisons and arithmetic, which floats would lose digits of.

#include "runtime/plan/cpu/lower/function.h"

namespace ltr::plan {

namespace {

/// A tensor over the sizes of the result, or a number.
struct Operand {
  Layout layout;
  int64_t number = 0;
  bool is_number = false;
};

/// `apply(a, b)` of whole numbers, as `Result`.
template <class Result, class Apply>
bool binary(Lowering& to, const Apply& apply) {
  const Layout out = to.layout(to.result());
  Operand operands[2];
  std::vector<Touched> reads;
  bool by_samples = to.is_apart(out);
  for (size_t i = 0; i < 2; ++i) {
    const Argument& given = to.node().arguments[i];
    if (const auto* whole = std::get_if<int64_t>(&given)) {
      operands[i].number = *whole;
      operands[i].is_number = true;
      continue;
    }
    const auto* value = std::get_if<ValueRef>(&given);
    if (value == nullptr || to.dtype(value->id) != DType::I64) return false;
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
         const auto at = [&](const Operand& of, int64_t row) -> const int64_t* {
           if (of.is_number) return &of.number;
           int64_t place = 0;
           for (size_t axis = out.sizes.size() > 0 ? out.sizes.size() - 1 : 0; axis-- > 0; row /= out.sizes[axis])
             place += row % out.sizes[axis] * of.layout.strides[axis];
           return longs(memory, of.layout) + place;
         };
         const auto step = [](const Operand& of) {
           return of.is_number || of.layout.strides.empty() ? 0 : of.layout.strides.back();
         };
         const int64_t of_a = step(a), of_b = step(b);
         auto* into = reinterpret_cast<Result*>(memory[out.root]) + begin * rows.width;
         for (int64_t r = begin; r < end; ++r) {
           const int64_t *x = at(a, r), *y = at(b, r);
           for (int64_t i = 0; i < rows.width; ++i, x += of_a, y += of_b) *into++ = Result(apply(*x, *y));
         }
       });
  return true;
}

template <class Apply>
bool comparison(Lowering& to, const Apply& apply) {
  return to.dtype(to.result()) == DType::Bool && binary<bool>(to, apply);
}
template <class Apply>
bool arithmetic(Lowering& to, const Apply& apply) {
  return to.dtype(to.result()) == DType::I64 && binary<int64_t>(to, apply);
}

}  // namespace

bool lower_whole(Lowering& to) {
  // Sums and products that are too large begin anew, as LibTorch's do.
  using Bits = uint64_t;
  switch (to.node().op) {
#define LTR_WHOLE(op, function, value) \
  case Op::op:                         \
  case Op::op##_number:                \
  case Op::number_##op: return function(to, [](int64_t x, int64_t y) { return value; });
    LTR_WHOLE(eq, comparison, x == y)
    LTR_WHOLE(ne, comparison, x != y)
    LTR_WHOLE(lt, comparison, x < y)
    LTR_WHOLE(le, comparison, x <= y)
    LTR_WHOLE(gt, comparison, x > y)
    LTR_WHOLE(ge, comparison, x >= y)
    LTR_WHOLE(add, arithmetic, int64_t(Bits(x) + Bits(y)))
    LTR_WHOLE(sub, arithmetic, int64_t(Bits(x) - Bits(y)))
    LTR_WHOLE(mul, arithmetic, int64_t(Bits(x) * Bits(y)))
#undef LTR_WHOLE
    default: return false;
  }
}

}  // namespace ltr::plan
