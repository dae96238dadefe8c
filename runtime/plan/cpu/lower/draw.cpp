// What draws: the numbers of runtime/tensor/draw.h, element by element, so that they hang on nobody who computes them.

#include <algorithm>
#include <cmath>

#include "runtime/plan/cpu/draws.h"
#include "runtime/plan/cpu/lower/function.h"

namespace ltr::plan {

namespace {

/// Elements [first, first + n) of the result of this node, by `fill(memory, part, first, n)`.
template <class Fill>
bool fill(Lowering& to, std::vector<Layout> from, const Fill& body) {
  if (!to.node().site) return false;
  const Layout out = to.layout(to.result());
  bool by_samples = to.is_apart(out);
  for (const Layout& one : from) by_samples = by_samples && to.is_apart(one);
  const Rows rows{out.count(), 1, by_samples};
  std::vector<Touched> reads;
  for (const Layout& one : from) reads.push_back(to.touched(one, by_samples));
  call(to, rows.split(), std::move(reads), {to.touched(out, by_samples)}, named(to, out),
       [=](Memory memory, const Part& part) {
         const auto [begin, end] = rows.of(part);
         if (begin < end) body(memory, part, begin, end - begin);
       });
  return true;
}

bool uniform(Lowering& to, double low, double high) {
  const Layout out = to.layout(to.result());
  if (!to.is_f32({to.result()})) return false;
  return fill(to, {}, [=, site = to.node().site.value_or(0)](Memory memory, const Part& part, int64_t at, int64_t n) {
    draw_uniform(part.key, site, low, high, at, n, floats(memory, out) + at);
  });
}

bool normal(Lowering& to, double mean, double std) {
  const Layout out = to.layout(to.result());
  if (!to.is_f32({to.result()})) return false;
  return fill(to, {}, [=, site = to.node().site.value_or(0)](Memory memory, const Part& part, int64_t at, int64_t n) {
    draw_normal(part.key, site, mean, std, at, n, floats(memory, out) + at);
  });
}

bool whole(Lowering& to) {
  const Layout out = to.layout(to.result());
  const int64_t low = to.node().host<int64_t>(0), high = to.node().host<int64_t>(1);
  return fill(to, {}, [=, site = to.node().site.value_or(0)](Memory memory, const Part& part, int64_t at, int64_t n) {
    draw_whole(part.key, site, low, high, at, n, longs(memory, out) + at);
  });
}

bool permutation(Lowering& to) {
  const Layout out = to.layout(to.result());
  if (!to.node().site) return false;
  call(
      to, Split::Alone, {}, {{out.root, false}}, named(to, out),
      [=, site = *to.node().site](Memory memory, const Part& part) {
        draw_permutation(part.key, site, out.count(), reinterpret_cast<int64_t*>(part.scratch), longs(memory, out));
      },
      out.count() * 8);
  return true;
}

bool bernoulli(Lowering& to) {
  if (!to.is_f32({to.argument(0)}) || !to.node().site) return false;
  const Layout p = to.side_by_side(to.layout(to.argument(0)), DType::F32), out = to.layout(to.result());
  return fill(to, {p}, [=, site = *to.node().site](Memory memory, const Part& part, int64_t at, int64_t n) {
    const float* const chance = floats(memory, p) + at;
    float* const is = floats(memory, out) + at;
    draw_uniform(part.key, site, 0, 1, at, n, is);
    for (int64_t i = 0; i < n; ++i) {
      if (chance[i] < 0 || chance[i] > 1) return part.fails();
      is[i] = is[i] < chance[i] ? 1 : 0;
    }
  });
}

/// An index of each row of weights, with a probability in proportion to it.
bool sample(Lowering& to) {
  if (!to.is_f32({to.argument(0)}) || to.layout(to.argument(0)).sizes.empty()) return false;
  if (!to.node().site) return false;
  const Layout x = to.side_by_side(to.layout(to.argument(0)), DType::F32);
  const Layout out = to.layout(to.result());
  const int64_t width = x.sizes.back();
  return fill(to, {x}, [=, site = *to.node().site](Memory memory, const Part& part, int64_t at, int64_t n) {
    for (int64_t r = at; r < at + n; ++r) {
      const float* const weights = floats(memory, x) + r * width;
      double total = 0, chosen = 0;
      for (int64_t i = 0; i < width; ++i) {
        if (weights[i] < 0) return part.fails();
        total += double(weights[i]);
      }
      if (!std::isfinite(total) || total <= 0) return part.fails();
      draw_uniform(part.key, site, 0, 1, r, 1, &chosen);
      chosen *= total;
      int64_t place = 0;
      for (double sum = double(weights[0]); sum <= chosen && place + 1 < width; sum += double(weights[place])) ++place;
      longs(memory, out)[r] = place;
    }
  });
}

/// Whole planes of images [B, C, …] stay, or become 0.
bool dropout2d(Lowering& to) {
  const Node& node = to.node();
  if (!to.is_f32({to.argument(0)}) || !node.is_training || !node.site) return false;
  const Layout x = to.side_by_side(to.layout(to.argument(0)), DType::F32), out = to.layout(to.result());
  const int64_t planes = x.sizes[0] * x.sizes[1], plane = x.count() / planes;
  const double keep = 1 - node.host<double>(1);
  const bool by_samples = to.is_apart(x) && to.is_apart(out);
  const Rows rows{planes, plane, by_samples};
  call(to, rows.split(), {to.touched(x, by_samples)}, {to.touched(out, by_samples)}, named(to, x),
       [=, site = *node.site](Memory memory, const Part& part) {
         const auto [begin, end] = rows.of(part);
         uint32_t words[192];
         for (int64_t p = begin; p < end; ++p) {
           float factor = 1;
           keep_some(&factor, part.key, site, keep, p, 1, words, &factor);
           const float* const from = floats(memory, x) + p * plane;
           float* const into = floats(memory, out) + p * plane;
           for (int64_t i = 0; i < plane; ++i) into[i] = from[i] * factor;
         }
       });
  return true;
}

}  // namespace

bool lower_draw(Lowering& to) {
  const Node& node = to.node();
  switch (node.op) {
    case Op::rand: return uniform(to, 0, 1);
    case Op::uniform: return uniform(to, node.host<double>(1), node.host<double>(2));
    case Op::randn: return normal(to, 0, 1);
    case Op::normal: return normal(to, node.host<double>(1), node.host<double>(2));
    case Op::randint: return whole(to);
    case Op::randperm: return permutation(to);
    case Op::bernoulli: return bernoulli(to);
    case Op::sample: return sample(to);
    case Op::dropout2d:
    case Op::dropout2d_backward: return dropout2d(to);
    default: return false;
  }
}

}  // namespace ltr::plan
