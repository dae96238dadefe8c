// Losses that are sums or means of a function of elements.

#include "runtime/plan/cpu/lower/function.h"

namespace ltr::plan {

namespace {

using kernels::Point;
using Ref = PointProgram::Ref;

/// `each(program, x, target)` of all elements, then their sum, or mean by the number that `reduction` says, if it says any.
template <class Each>
bool loss(Lowering& to, size_t reduction_at, const Each& each) {
  const ValueId x = to.argument(0), target = to.argument(1);
  const Ints sizes = to.layout(x).sizes;
  if (!to.is_f32({x, target, to.result()}) || to.layout(target).sizes != sizes || to.layout(x).count() == 0)
    return false;
  const Str& reduction = to.node().host<Str>(reduction_at);
  if (reduction == "none") {
    PointProgram program = Lowering::program(sizes);
    const Ref a = to.load(program, x), b = to.load(program, target);
    program.store(to.result(), DType::F32, each(program, a, b));
    to.add(std::move(program));
    return true;
  }
  const double count = double(to.layout(x).count());
  double scale = 0;
  if (reduction == "sum") scale = 1;
  if (reduction == "mean") scale = 1 / count;
  if (reduction == "batchmean" && !sizes.empty()) scale = 1 / double(sizes[0]);
  if (scale == 0) return false;
  const Layout all = dense(to.temporary(DType::F32, to.layout(x).count()), sizes);
  PointProgram program = Lowering::program(sizes);
  const Ref a = to.load(program, x), b = to.load(program, target);
  program.store(all.root, DType::F32, each(program, a, b));
  to.add(std::move(program));
  sum_all(to, all, scale, to.layout(to.result()));
  return true;
}

/// Of a difference d: d² below `bound`, straight from there on.
Ref bent(PointProgram& p, Ref x, Ref target, double bound, double steep, double level) {
  const Ref size = p.step(Point::abs, p.step(Point::sub, x, target));
  const Ref round = p.step(Point::mul, p.step(Point::square, size), p.number(steep));
  const Ref straight = p.step(Point::sub, p.step(Point::mul, size, p.number(level)), p.number(0.5 * bound * level));
  return p.step(Point::choose, p.step(Point::lt, size, p.number(bound)), round, straight);
}

bool bce_with_logits(Lowering& to) {
  const ValueId weight = to.argument(2);
  if (!to.is_f32({weight})) return false;
  return loss(to, 3, [&](PointProgram& p, Ref x, Ref target) {
    // (1 - y) x + (1 + (weight - 1) y) log(1 + e^-x)
    Ref rest = p.step(Point::softplus, p.step(Point::neg, x));
    if (weight != kNone) {
      const Ref w = p.load(expanded(to.layout(weight), p.sizes), DType::F32);
      const Ref more = p.step(Point::mul, p.step(Point::sub, w, p.number(1)), target);
      rest = p.step(Point::mul, p.step(Point::add, more, p.number(1)), rest);
    }
    return p.step(Point::add, p.step(Point::mul, p.step(Point::sub, p.number(1), target), x), rest);
  });
}

/// Logarithms that are cut off at -100.
bool bce(Lowering& to) {
  return loss(to, 2, [](PointProgram& p, Ref x, Ref y) {
    const auto cut = [&](Ref of) { return p.step(Point::at_least, p.step(Point::log, of), p.number(-100)); };
    const Ref of_one = p.step(Point::mul, y, cut(x));
    const Ref of_zero = p.step(Point::mul, p.step(Point::sub, p.number(1), y), cut(p.step(Point::sub, p.number(1), x)));
    return p.step(Point::neg, p.step(Point::add, of_one, of_zero));
  });
}

/// (log v + (x - y)² / v) / 2, of a variance that is broadcast; nan if it is below 0.
bool gaussian_nll(Lowering& to) {
  const ValueId variance = to.argument(2);
  if (!to.is_f32({variance})) return false;
  return loss(to, 4, [&](PointProgram& p, Ref x, Ref y) {
    const Ref given = p.load(expanded(to.layout(variance), p.sizes), DType::F32);
    const Ref floored = p.step(Point::at_least, given, p.number(to.node().host<double>(3)));
    const Ref v = p.step(Point::choose, p.step(Point::lt, given, p.number(0)), p.step(Point::log, given), floored);
    const Ref far = p.step(Point::div, p.step(Point::square, p.step(Point::sub, x, y)), v);
    return p.step(Point::mul, p.step(Point::add, p.step(Point::log, v), far), p.number(0.5));
  });
}

/// x where the label is 1, what x leaves of the margin where it is -1; both elsewhere.
bool hinge(Lowering& to) {
  const double margin = to.node().host<double>(2);
  return loss(to, 3, [=](PointProgram& p, Ref x, Ref y) {
    const Ref left = p.step(Point::relu, p.step(Point::sub, p.number(margin), x));
    const Ref apart = p.step(Point::choose, p.step(Point::ne, y, p.number(1)), left, p.number(0));
    return p.step(Point::add, apart, p.step(Point::choose, p.step(Point::ne, y, p.number(-1)), x, p.number(0)));
  });
}

}  // namespace

bool lower_loss(Lowering& to) {
  const Node& node = to.node();
  switch (node.op) {
    case Op::mse:
      return loss(to, 2, [](PointProgram& p, Ref x, Ref y) { return p.step(Point::square, p.step(Point::sub, x, y)); });
    case Op::l1:
      return loss(to, 2, [](PointProgram& p, Ref x, Ref y) { return p.step(Point::abs, p.step(Point::sub, x, y)); });
    case Op::smooth_l1: {
      const double beta = node.host<double>(2);
      if (beta <= 0) return false;
      return loss(to, 3, [=](PointProgram& p, Ref x, Ref y) { return bent(p, x, y, beta, 0.5 / beta, 1); });
    }
    case Op::huber: {
      const double delta = node.host<double>(2);
      return loss(to, 3, [=](PointProgram& p, Ref x, Ref y) { return bent(p, x, y, delta, 0.5, delta); });
    }
    case Op::bce_with_logits: return bce_with_logits(to);
    case Op::bce: return bce(to);
    case Op::poisson_nll:
      return loss(to, 2, [](PointProgram& p, Ref x, Ref y) {
        return p.step(Point::sub, p.step(Point::exp, x), p.step(Point::mul, y, x));
      });
    case Op::gaussian_nll: return gaussian_nll(to);
    case Op::hinge: return hinge(to);
    case Op::kl_div:
      return loss(to, 2, [](PointProgram& p, Ref x, Ref y) {
        // y (log y - x), and nothing where y is 0.
        const Ref each = p.step(Point::mul, y, p.step(Point::sub, p.step(Point::log, y), x));
        return p.step(Point::choose, p.step(Point::eq, y, p.number(0)), p.number(0), each);
      });
    default: return false;
  }
}

}  // namespace ltr::plan
