// Elements in their order: sorted ones, and the largest few, with the places where they stood.

#include <algorithm>
#include <cmath>

#include "runtime/plan/cpu/lower/function.h"

namespace ltr::plan {

namespace {

/// An element and its place.
using Placed = std::pair<float, int64_t>;

// What is no number is larger than any.
bool is_less(float a, float b) { return (!std::isnan(a) && std::isnan(b)) || a < b; }
bool is_larger(const Placed& a, const Placed& b) { return is_less(b.first, a.first); }

/// `order(begin, end)` of the elements along an axis, of which the first `kept` are given, with their places.
template <class Order>
bool ordered(Lowering& to, int64_t dim, const Order& order) {
  if (!to.is_f32({to.argument(0)}) || to.layout(to.argument(0)).sizes.empty()) return false;
  const Layout x = to.side_by_side(to.layout(to.argument(0)), DType::F32);
  const auto layout_of = [&](size_t at, DType type) {
    if (to.node().results[at] != kNone) return to.layout(to.node().results[at]);
    const ValueId other = to.node().results[1 - at];
    return dense(to.temporary(type, to.layout(other).count()), to.layout(other).sizes);
  };
  const Layout values = layout_of(0, DType::F32), places = layout_of(1, DType::I64);
  const Middle of = middle_of(x, dim);
  const int64_t kept = values.sizes[axis_of(dim, x)];
  const auto flat = [&](const Layout& one, int64_t width) {
    Layout found = dense(one.root, {of.outer, width * of.inner});
    found.offset = one.offset;
    return found;
  };
  const bool by_samples =
      to.is_apart(flat(x, of.width)) && to.is_apart(flat(values, kept)) && to.is_apart(flat(places, kept));
  const Rows rows{of.outer, of.width * of.inner, by_samples};
  const auto own = [&](const Layout& one) { return Touched{one.root, by_samples}; };
  call(
      to, rows.split(), {own(x)}, {own(values), own(places)}, named(to, x),
      [=](Memory memory, const Part& part) {
        const auto [begin, end] = rows.of(part);
        auto* const line = reinterpret_cast<Placed*>(part.scratch);
        for (int64_t o = begin; o < end; ++o) {
          for (int64_t i = 0; i < of.inner; ++i) {
            const float* const from = floats(memory, x) + o * rows.width + i;
            for (int64_t w = 0; w < of.width; ++w) line[w] = {from[w * of.inner], w};
            order(line, line + of.width);
            const int64_t at = o * kept * of.inner + i;
            for (int64_t k = 0; k < kept; ++k) {
              floats(memory, values)[at + k * of.inner] = line[k].first;
              longs(memory, places)[at + k * of.inner] = line[k].second;
            }
          }
        }
      },
      of.width * int64_t(sizeof(Placed)));
  return true;
}

/// Equal ones in the order in which they stood.
bool sort(Lowering& to) {
  const bool descends = to.node().host<bool>(2);
  return ordered(to, to.node().host<int64_t>(1), [=](Placed* begin, Placed* end) {
    std::sort(begin, end, [&](const Placed& a, const Placed& b) {
      const bool is_before = descends ? is_larger(a, b) : is_larger(b, a);
      return is_before || (a.second < b.second && !(descends ? is_larger(b, a) : is_larger(a, b)));
    });
  });
}

/// As LibTorch finds them, so that of equal ones the same are found.
bool topk(Lowering& to) {
  const int64_t k = to.node().host<int64_t>(1);
  return ordered(to, to.node().host<int64_t>(2), [=](Placed* begin, Placed* end) {
    if (k * 64 <= end - begin) return std::partial_sort(begin, begin + k, end, is_larger);
    std::nth_element(begin, begin + (k - 1), end, is_larger);
    std::sort(begin, begin + (k - 1), is_larger);
  });
}

}  // namespace

bool lower_order(Lowering& to) {
  switch (to.node().op) {
    case Op::sort: return sort(to);
    case Op::topk: return topk(to);
    default: return false;
  }
}

}  // namespace ltr::plan
