// What each element makes of those in front of it along an axis.

#include <algorithm>
#include <array>
#include <cmath>

#include "runtime/plan/cpu/lower/function.h"

namespace ltr::plan {

namespace {

/// Elements `step` apart.
struct Line {
  const float* at;
  int64_t step;
  double operator[](int64_t i) const { return double(at[i * step]); }
};
struct LineOut {
  float* at;
  int64_t step;
  void set(int64_t i, double value) const { at[i * step] = float(value); }
};

/// `each(lines, out, width)` for all lines along the axis of argument `dim_at`, of the `count` first arguments.
template <size_t count, class Each>
bool lines(Lowering& to, size_t dim_at, const Each& each) {
  const Layout out = to.layout(to.result());
  std::array<Layout, count> from;
  for (size_t i = 0; i < count; ++i) {
    if (!to.is_f32({to.argument(i), to.result()}) || to.layout(to.argument(i)).sizes.empty()) return false;
    from[i] = to.side_by_side(to.layout(to.argument(i)), DType::F32);
  }
  const Middle of = middle_of(out, to.node().host<int64_t>(dim_at));
  const auto flat = [&](const Layout& x) {
    Layout layout = dense(x.root, {of.outer, of.width * of.inner});
    layout.offset = x.offset;
    return layout;
  };
  bool by_samples = to.is_apart(flat(out));
  for (const Layout& x : from) by_samples = by_samples && to.is_apart(flat(x));
  std::vector<Touched> reads;
  for (const Layout& x : from) reads.push_back({x.root, by_samples});
  const Rows rows{of.outer, of.width * of.inner, by_samples};
  call(to, rows.split(), std::move(reads), {{out.root, by_samples}},
       fmt::format("[{}, {}, {}] {}", of.outer, of.width, of.inner, name_of(to.node().op)),
       [=](Memory memory, const Part& part) {
         const auto [begin, end] = rows.of(part);
         for (int64_t o = begin; o < end; ++o) {
           for (int64_t i = 0; i < of.inner; ++i) {
             const int64_t at = o * rows.width + i;
             std::array<Line, count> given;
             for (size_t k = 0; k < count; ++k) given[k] = {floats(memory, from[k]) + at, of.inner};
             each(given, LineOut{floats(memory, out) + at, of.inner}, of.width);
           }
         }
       });
  return true;
}

/// log(e^a + e^b), of infinities too.
double log_sum(double a, double b) {
  if (std::isnan(a) || std::isnan(b)) return a + b;
  const double most = std::max(a, b), least = std::min(a, b);
  return least == most && std::isinf(least) ? most : std::log1p(std::exp(least - most)) + most;
}

}  // namespace

bool lower_cumulative(Lowering& to) {
  using One = std::array<Line, 1>;
  using Two = std::array<Line, 2>;
  switch (to.node().op) {
    case Op::cumsum:
      return lines<1>(to, 1, [](const One& x, const LineOut& out, int64_t width) {
        double sum = 0;
        for (int64_t i = 0; i < width; ++i) out.set(i, sum += x[0][i]);
      });
    case Op::cumprod:
      return lines<1>(to, 1, [](const One& x, const LineOut& out, int64_t width) {
        double product = 1;
        for (int64_t i = 0; i < width; ++i) out.set(i, product *= x[0][i]);
      });
    case Op::logcumsumexp:
      return lines<1>(to, 1, [](const One& x, const LineOut& out, int64_t width) {
        double sum = -INFINITY;
        for (int64_t i = 0; i < width; ++i) out.set(i, sum = log_sum(sum, x[0][i]));
      });
    case Op::cumprod_backward:
      // Of the gradients g from element i on, each with the product of what lies between: s_i = g_i + x_(i+1) s_(i+1), times what lies
      // in front of i. Nothing is divided by, so zeros are as others.
      return lines<2>(to, 2, [](const Two& of, const LineOut& out, int64_t width) {
        const auto& [gradient, x] = of;
        double sum = 0;
        for (int64_t i = width; i-- > 0;) {
          sum = gradient[i] + (i + 1 < width ? x[i + 1] * sum : 0);
          out.set(i, sum);
        }
        double before = 1;
        for (int64_t i = 0; i < width; ++i) {
          out.set(i, before * double(out.at[i * out.step]));
          before *= x[i];
        }
      });
    default: return false;
  }
}

}  // namespace ltr::plan
