// Losses of what is compared as a whole: overlaps, distances and cosines of rows.

#include "runtime/plan/cpu/lower/function.h"

namespace ltr::plan {

namespace {

using kernels::Point;
using Ref = PointProgram::Ref;

/// The sums along axis `dim` of what `each(program, loads)` makes of values of the same sizes; they have no such axis.
template <class Each>
Layout sums(Lowering& to, const std::vector<Layout>& of, int64_t dim, const Each& each) {
  const Layout& first = of.front();
  const Layout all = dense(to.temporary(DType::F32, first.count()), first.sizes);
  PointProgram program = Lowering::program(first.sizes);
  std::vector<Ref> loads;
  for (const Layout& x : of) loads.push_back(program.load(x, DType::F32));
  program.store(all.root, DType::F32, each(program, loads));
  to.add(std::move(program));
  Ints sizes = first.sizes;
  sizes.erase(sizes.begin() + ptrdiff_t(axis_of(dim, first)));
  const Middle middle = middle_of(first, dim);
  const Layout found = dense(to.temporary(DType::F32, middle.results()), sizes);
  sum_along(to, all, dim, 1, found);
  return found;
}
Layout sums_of_products(Lowering& to, const Layout& a, const Layout& b, int64_t dim) {
  return sums(to, {a, b}, dim,
              [](PointProgram& p, const std::vector<Ref>& x) { return p.step(Point::mul, x[0], x[1]); });
}

/// The mean or sum of what `each(program)` makes for `sizes`.
template <class Each>
void reduce(Lowering& to, const Ints& sizes, const Str& reduction, const Each& each) {
  PointProgram program = Lowering::program(sizes);
  int64_t count = 1;
  for (const int64_t size : sizes) count *= size;
  const Layout costs = dense(to.temporary(DType::F32, count), sizes);
  program.store(costs.root, DType::F32, each(program));
  to.add(std::move(program));
  sum_all(to, costs, reduction == "mean" ? 1 / double(count) : 1, to.layout(to.result()));
}

/// Whether the first `count` arguments are floats of the same sizes, with at least `axes` axes and some elements.
bool are_alike(const Lowering& to, size_t count, size_t axes) {
  const Layout& first = to.layout(to.argument(0));
  for (size_t i = 0; i < count; ++i) {
    if (!to.is_f32({to.argument(i)}) || to.layout(to.argument(i)).sizes != first.sizes) return false;
  }
  return first.sizes.size() >= axes && first.count() > 0 && to.is_f32({to.result()});
}

/// 1 - (2 Σ p y + e) / (Σ p + Σ y + e), along axis 1.
bool dice(Lowering& to) {
  if (!are_alike(to, 2, 2)) return false;
  const Layout p = to.layout(to.argument(0)), y = to.layout(to.argument(1));
  const double smooth = to.node().host<double>(2);
  const Layout overlap = sums_of_products(to, p, y, 1);
  const Layout all =
      sums(to, {p, y}, 1, [](PointProgram& q, const std::vector<Ref>& x) { return q.step(Point::add, x[0], x[1]); });
  reduce(to, overlap.sizes, "mean", [&](PointProgram& q) {
    const Ref twice = q.step(Point::mul, q.load(overlap, DType::F32), q.number(2));
    const Ref above = q.step(Point::add, twice, q.number(smooth));
    const Ref below = q.step(Point::add, q.load(all, DType::F32), q.number(smooth));
    return q.step(Point::sub, q.number(1), q.step(Point::div, above, below));
  });
  return true;
}

/// 1 - cos where the target is 1, what cos is above the margin where it is -1.
bool cosine_embedding(Lowering& to) {
  constexpr double kAdded = 1e-12F;  // a float in LibTorch
  if (!are_alike(to, 2, 1) || !to.is_f32({to.argument(2)})) return false;
  const Layout a = to.layout(to.argument(0)), b = to.layout(to.argument(1)), y = to.layout(to.argument(2));
  const Layout of_a = sums_of_products(to, a, a, -1), of_b = sums_of_products(to, b, b, -1),
               along = sums_of_products(to, a, b, -1);
  if (y.sizes != along.sizes) return false;
  const double margin = to.node().host<double>(3);
  reduce(to, along.sizes, to.node().host<Str>(4), [&](PointProgram& p) {
    const auto square = [&](const Layout& of) { return p.step(Point::add, p.load(of, DType::F32), p.number(kAdded)); };
    const Ref first = square(of_a), second = square(of_b);
    const Ref length = p.step(Point::sqrt, p.step(Point::mul, first, second));
    const Ref cos = p.step(Point::div, p.load(along, DType::F32), length), target = p.load(y, DType::F32);
    const auto where = [&](double label, Ref cost) {
      return p.step(Point::choose, p.step(Point::eq, target, p.number(label)), cost, p.number(0));
    };
    const Ref near = where(1, p.step(Point::sub, p.number(1), cos));
    const Ref far = where(-1, p.step(Point::at_least, p.step(Point::sub, cos, p.number(margin)), p.number(0)));
    return p.step(Point::add, near, far);
  });
  return true;
}

/// What the distance to the positive and a margin have above that to the negative.
bool triplet_margin(Lowering& to) {
  if (!are_alike(to, 3, 1)) return false;
  const Layout anchor = to.layout(to.argument(0));
  const auto distance = [&](size_t from) {
    return sums(to, {anchor, to.layout(to.argument(from))}, -1, [](PointProgram& p, const std::vector<Ref>& x) {
      return p.step(Point::square, p.step(Point::add, p.step(Point::sub, x[0], x[1]), p.number(1e-6)));
    });
  };
  const Layout near = distance(1), far = distance(2);
  const double margin = to.node().host<double>(3);
  reduce(to, near.sizes, to.node().host<Str>(4), [&](PointProgram& p) {
    const Ref to_near = p.step(Point::sqrt, p.load(near, DType::F32)),
              to_far = p.step(Point::sqrt, p.load(far, DType::F32));
    return p.step(Point::at_least, p.step(Point::sub, p.step(Point::add, p.number(margin), to_near), to_far),
                  p.number(0));
  });
  return true;
}

/// The cross entropy of cosines, in which row i of the one is the class of row i of the other.
bool contrastive(Lowering& to) {
  const Layout a = to.layout(to.argument(0)), b = to.layout(to.argument(1));
  if (!to.is_f32({to.argument(0), to.argument(1), to.result()}) || a.sizes.size() != 2 || a.sizes != b.sizes ||
      a.count() == 0)
    return false;
  const auto unit = [&](const Layout& x, double scale) {
    const Layout squares = sums_of_products(to, x, x, 1);
    const Layout found = dense(to.temporary(DType::F32, x.count()), x.sizes);
    PointProgram p = Lowering::program(x.sizes);
    const Ref size = p.step(Point::sqrt, p.load(expanded(*reshaped(squares, {x.sizes[0], 1}), x.sizes), DType::F32));
    const Ref rows = p.step(Point::div, p.load(x, DType::F32), p.step(Point::at_least, size, p.number(1e-12)));
    p.store(found.root, DType::F32, p.step(Point::mul, rows, p.number(scale)));
    to.add(std::move(p));
    return found;
  };
  const int64_t count = a.sizes[0];
  const Layout left = unit(a, 1 / to.node().host<double>(2)), right = unit(b, 1);
  const Layout scores = dense(to.temporary(DType::F32, count * count), {count, count}),
               logs = dense(to.temporary(DType::F32, count * count), {count, count});
  to.product(left, transposed(right), {}, scores.root);
  softmax_along(to, scores, 1, true, logs);
  sum_all(to, to.side_by_side(diagonal_of(logs, 0, 0, 1), DType::F32), -1 / double(count), to.layout(to.result()));
  return true;
}

}  // namespace

bool lower_pairs(Lowering& to) {
  switch (to.node().op) {
    case Op::dice: return dice(to);
    case Op::contrastive: return contrastive(to);
    case Op::cosine_embedding: return cosine_embedding(to);
    case Op::triplet_margin: return triplet_margin(to);
    default: return false;
  }
}

}  // namespace ltr::plan
