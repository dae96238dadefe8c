// Losses over classes with the ids of those that are meant: of rows, and of places whose scores lie in planes.

#include <algorithm>
#include <cstring>

#include "runtime/kernels/classes.h"
#include "runtime/plan/cpu/lower/function.h"
#include "runtime/tensor/loss_terms.h"

namespace ltr::plan {

namespace {

using kernels::class_kernel;
using kernels::Classes;
using kernels::Point;

/// What a node says of scores [B, C, …], side by side, or as rows [B, …, C]; targets, weights, and how places become one number.
struct Scores {
  Layout x, target, weight;
  int64_t classes = 1, inner = 1, places = 1;  ///< `inner` places lie side by side; 1: each has a row
  int64_t ignored = kNoClass;
  double smoothing = 0;
  bool is_mean = true, by_samples = false;

  /// The first score of a place; the next one of it is `inner` further.
  int64_t first_of(int64_t place) const { return place / inner * inner * classes + place % inner; }
  /// Whether it is a class, or what is ignored.
  bool is_known(int64_t target) const { return target == ignored || (target >= 0 && target < classes); }
  std::pair<int64_t, int64_t> of(const Part& part) const { return by_samples ? part.of(places) : part.share(places); }
  Split split() const { return by_samples ? Split::Samples : Split::Shares; }
  /// Whether a mean is over what the batch says: the weights of its targets.
  bool is_weighted_mean() const { return is_mean && (weight.root != kNone || ignored != kNoClass); }
  double share() const { return is_mean && !is_weighted_mean() ? 1 / double(places) : 1; }
  /// A row of fewer classes than these fills no vector: then it is places that do.
  static constexpr int64_t kManyClasses = 16;
  bool goes_along_classes() const { return inner == 1 && classes >= kManyClasses; }
  /// For people: what fills vectors, and why.
  Str why_so() const {
    if (inner > 1) return fmt::format("vectors go along {} places, which lie side by side", inner);
    return goes_along_classes() ? fmt::format("vectors go along classes, from {} on", kManyClasses)
                                : fmt::format("vectors go along rows, below {} classes", kManyClasses);
  }
  kernels::ClassPlaces lie() const { return {inner, inner == 1 ? classes : 1}; }
  int64_t line_bytes() const { return goes_along_classes() ? 0 : classes * 16 * 4; }

  Classes of(Memory memory) const {
    Classes of{.count = classes,
               .weight = floats_or_null(memory, weight),
               .weights = float(classes),
               .ignored = ignored,
               .smoothing = float(smoothing)};
    if (of.weight != nullptr) {
      double sum = 0;
      for (int64_t c = 0; c < classes; ++c) sum += double(of.weight[c]);
      of.weights = float(sum);
    }
    return of;
  }
  /// `body(at, first, count)` for places of [begin, end) whose scores lie one behind the other, from element `first` on.
  template <class Body>
  void each_run(std::pair<int64_t, int64_t> range, const Body& body) const {
    for (int64_t at = range.first; at < range.second;) {
      const int64_t count = inner == 1 ? range.second - at : std::min(range.second - at, inner - at % inner);
      body(at, first_of(at), count);
      at += count;
    }
  }
};

/// The axis of classes behind the others.
Layout as_rows(Layout x, size_t axis) {
  const auto last = [&](Ints& of) {
    std::rotate(of.begin() + ptrdiff_t(axis), of.begin() + ptrdiff_t(axis) + 1, of.end());
  };
  last(x.sizes);
  last(x.strides);
  return x;
}
/// `root` side by side as `rows` are, with their last axis back at `axis`.
Layout from_rows(ValueId root, const Ints& rows, size_t axis) {
  Layout x = dense(root, rows);
  const auto back = [&](Ints& of) { std::rotate(of.begin() + ptrdiff_t(axis), of.end() - 1, of.end()); };
  back(x.sizes);
  back(x.strides);
  return x;
}

size_t class_axis(const Layout& x) { return x.sizes.size() == 1 ? 0 : 1; }

/// Nothing where there is no kernel for it. `no_class` is the one that is ignored, if any.
Option<Scores> scores_of(Lowering& to, ValueId x, ValueId target, ValueId weight, const Argument& no_class,
                         double smoothing, const Str& reduction) {
  const Layout& given = to.layout(x);
  if (!to.is_f32({x, weight}) || to.dtype(target) != DType::I64 || given.sizes.empty() || given.count() == 0)
    return std::nullopt;
  const size_t axis = class_axis(given);
  if (!to.layout(target).is_dense() || to.layout(target).count() != given.count() / given.sizes[axis])
    return std::nullopt;
  Scores of;
  of.classes = given.sizes[axis];
  of.places = given.count() / of.classes;
  of.target = to.layout(target);
  if (const auto* ignored = std::get_if<int64_t>(&no_class)) of.ignored = *ignored;
  of.smoothing = smoothing;
  of.is_mean = reduction == "mean";
  of.x = as_rows(given, axis);
  if (!of.x.is_dense()) {
    of.x = to.side_by_side(given, DType::F32);
    for (size_t i = axis + 1; i < given.sizes.size(); ++i) of.inner *= given.sizes[i];
    if (of.inner == 1) of.x = as_rows(of.x, axis);
  }
  of.weight = given_or_none(to, weight);
  of.by_samples = given.sizes.size() > 1 && to.is_apart(of.x) && to.is_apart(of.target);
  return of;
}

std::vector<Touched> reads_of(const Lowering& to, const Scores& of) {
  return {to.touched(of.x, of.by_samples), to.touched(of.target, of.by_samples), {of.weight.root, false}};
}

Layout number(Lowering& to) { return dense(to.temporary(DType::F32, 1), {}); }
Layout for_each_place(Lowering& to, const Scores& of) {
  return dense(to.temporary(DType::F32, of.places), {of.places});
}

/// Σ of the weights of the targets.
Layout total_of(Lowering& to, const Scores& of) {
  const Layout each = for_each_place(to, of), total = number(to);
  call(to, of.split(), {to.touched(of.target, of.by_samples), {of.weight.root, false}},
       {to.touched(each, of.by_samples)}, fmt::format("[{}] weights of classes", fmt::join(of.target.sizes, ", ")),
       [=](Memory memory, const Part& part) {
         const Classes classes = of.of(memory);
         const auto [begin, end] = of.of(part);
         for (int64_t i = begin; i < end; ++i) {
           const int64_t t = longs(memory, of.target)[i];
           if (!of.is_known(t)) return part.fails();
           floats(memory, each)[i] = classes.weight_of(t);
         }
       });
  sum_all(to, each, 1, total);
  return total;
}

/// The loss of what each place costs.
void reduce(Lowering& to, const Scores& of, const Layout& costs) {
  if (!of.is_weighted_mean()) return sum_all(to, costs, of.share(), to.layout(to.result()));
  const Layout total = total_of(to, of), sum = number(to);
  sum_all(to, costs, 1, sum);
  PointProgram program = Lowering::program({});
  const PointProgram::Ref a = program.load(sum, DType::F32), b = program.load(total, DType::F32);
  program.store(to.result(), DType::F32, program.step(Point::div, a, b));
  to.add(std::move(program));
}

/// By how much the gradient of each place's cost is that of the loss.
struct Scale {
  Layout gradient, total;
  double share;

  float of(Memory memory) const {
    const double scale = double(*floats(memory, gradient)) * share;
    return float(total.root == kNone ? scale : scale / double(*floats(memory, total)));
  }
};
Scale scale_of(Lowering& to, const Scores& of, const Layout& gradient) {
  return {gradient, of.is_weighted_mean() ? total_of(to, of) : Layout(), of.share()};
}
std::vector<Touched> with(std::vector<Touched> reads, const Scale& scale) {
  reads.push_back({scale.gradient.root, false});
  reads.push_back({scale.total.root, false});
  return reads;
}

/// Where the gradient of the scores lies: as they do.
Layout lay_out_gradient(Lowering& to, Scores& of) {
  const Layout out = to.layout(to.result());
  if (of.inner > 1) {
    of.by_samples = of.by_samples && to.is_apart(out);
    return out;
  }
  to.lay_out(0, from_rows(to.result(), of.x.sizes, class_axis(out)));
  const Layout rows = dense(to.result(), of.x.sizes);
  of.by_samples = of.by_samples && to.is_apart(rows);
  return rows;
}

// ---- cross entropy

/// What each place costs.
Layout costs_of(Lowering& to, Scores& of) {
  const Layout costs = for_each_place(to, of);
  of.by_samples = of.by_samples && to.is_apart(costs);
  call(
      to, of.split(), reads_of(to, of), {to.touched(costs, of.by_samples)}, named(to, of.x),
      [=](Memory memory, const Part& part) {
        const Classes classes = of.of(memory);
        const float* const x = floats(memory, of.x);
        of.each_run(of.of(part), [&](int64_t at, int64_t first, int64_t count) {
          const int64_t* const target = longs(memory, of.target) + at;
          float* const cost = floats(memory, costs) + at;
          const bool is_well = of.goes_along_classes()
                                   ? class_kernel().rows(classes, x + first, target, count, cost)
                                   : class_kernel().planes(classes, x + first, of.lie(), target, count,
                                                           reinterpret_cast<float*>(part.scratch), cost);
          if (!is_well) part.fails();
        });
      },
      of.line_bytes());
  to.explain(of.why_so());
  return costs;
}

bool cross_entropy(Lowering& to) {
  Option<Scores> of = scores_of(to, to.argument(0), to.argument(1), to.argument(2), to.node().arguments[3],
                                to.node().host<double>(4), to.node().host<Str>(5));
  if (!of) return false;
  const Layout costs = costs_of(to, *of);
  reduce(to, *of, costs);
  return true;
}

/// -(1 - p)^γ log p, of -log p.
bool focal(Lowering& to) {
  Option<Scores> of = scores_of(to, to.argument(0), to.argument(1), kNone, std::monostate(), 0, to.node().host<Str>(3));
  if (!of) return false;
  const Layout costs = costs_of(to, *of), each = for_each_place(to, *of);
  PointProgram p = Lowering::program(costs.sizes);
  const PointProgram::Ref cost = p.load(costs, DType::F32);
  const PointProgram::Ref rest = p.step(Point::sub, p.number(1), p.step(Point::exp, p.step(Point::neg, cost)));
  p.store(each.root, DType::F32,
          p.step(Point::mul, p.step(Point::pow, rest, p.number(to.node().host<double>(2))), cost));
  to.add(std::move(p));
  reduce(to, *of, each);
  return true;
}

/// Against probabilities: -Σ w t log p, with t as they are smoothed.
bool soft_cross_entropy(Lowering& to) {
  const ValueId x = to.argument(0), probs = to.argument(1), weight = to.argument(2);
  const Layout& given = to.layout(x);
  if (!to.is_f32({x, probs, weight}) || given.sizes.empty() || given.count() == 0) return false;
  if (to.layout(probs).sizes != given.sizes) return false;
  const size_t axis = class_axis(given);
  const int64_t classes = given.sizes[axis];
  Ints sizes(given.sizes.size(), 1);
  sizes[axis] = classes;
  const Layout logs = dense(to.temporary(DType::F32, given.count()), given.sizes);
  const Layout each = dense(to.temporary(DType::F32, given.count()), given.sizes);
  const double smoothing = to.node().host<double>(3);
  softmax_along(to, given, int64_t(axis), true, logs);
  PointProgram p = Lowering::program(given.sizes);
  PointProgram::Ref pull = to.load(p, probs);
  if (smoothing > 0)
    pull = p.step(Point::add, p.step(Point::mul, pull, p.number(1 - smoothing)), p.number(smoothing / double(classes)));
  if (weight != kNone) {
    const Layout weights = given_or_none(to, weight);
    pull = p.step(Point::mul, pull, p.load(*reshaped(weights, sizes), DType::F32));
  }
  p.store(each.root, DType::F32, p.step(Point::mul, pull, p.load(logs, DType::F32)));
  to.add(std::move(p));
  const bool is_mean = to.node().host<Str>(4) != "sum";
  sum_all(to, each, is_mean ? -double(classes) / double(given.count()) : -1, to.layout(to.result()));
  return true;
}

bool cross_entropy_backward(Lowering& to) {
  const Layout gradient = to.layout(to.argument(0));
  if (gradient.count() != 1 || !to.is_f32({to.argument(0)})) return false;
  Option<Scores> found = scores_of(to, to.argument(1), to.argument(2), to.argument(3), to.node().arguments[4],
                                   to.node().host<double>(5), to.node().host<Str>(6));
  if (!found) return false;
  Scores& of = *found;
  const Layout out = lay_out_gradient(to, of);
  const Scale scale = scale_of(to, of, gradient);
  call(
      to, of.split(), with(reads_of(to, of), scale), {to.touched(out, of.by_samples)}, named(to, of.x),
      [=](Memory memory, const Part& part) {
        const Classes classes = of.of(memory);
        const float* const x = floats(memory, of.x);
        of.each_run(of.of(part), [&](int64_t at, int64_t first, int64_t count) {
          const int64_t* const target = longs(memory, of.target) + at;
          float* const by_x = floats(memory, out) + first;
          if (of.goes_along_classes())
            class_kernel().rows_slope(classes, x + first, target, count, scale.of(memory), by_x);
          else
            class_kernel().planes_slope(classes, x + first, of.lie(), target, count, scale.of(memory),
                                        reinterpret_cast<float*>(part.scratch), by_x);
        });
      },
      of.line_bytes());
  to.explain(of.why_so());
  return true;
}

// ---- of logarithms

bool nll(Lowering& to) {
  Option<Scores> found =
      scores_of(to, to.argument(0), to.argument(1), to.argument(2), to.node().arguments[3], 0, to.node().host<Str>(4));
  if (!found) return false;
  Scores& of = *found;
  const Layout costs = for_each_place(to, of);
  of.by_samples = of.by_samples && to.is_apart(costs);
  call(to, of.split(), reads_of(to, of), {to.touched(costs, of.by_samples)}, named(to, of.x),
       [=](Memory memory, const Part& part) {
         const Classes classes = of.of(memory);
         const auto [begin, end] = of.of(part);
         for (int64_t i = begin; i < end; ++i) {
           const int64_t t = longs(memory, of.target)[i];
           if (!of.is_known(t)) return part.fails();
           floats(memory, costs)[i] =
               t == of.ignored ? 0 : -classes.weight_of(t) * floats(memory, of.x)[of.first_of(i) + t * of.inner];
         }
       });
  reduce(to, of, costs);
  return true;
}

bool nll_backward(Lowering& to) {
  const Layout gradient = to.layout(to.argument(0));
  if (gradient.count() != 1 || !to.is_f32({to.argument(0)})) return false;
  Option<Scores> found =
      scores_of(to, to.argument(1), to.argument(2), to.argument(3), to.node().arguments[4], 0, to.node().host<Str>(5));
  if (!found) return false;
  Scores& of = *found;
  const Layout out = lay_out_gradient(to, of);
  const Scale scale = scale_of(to, of, gradient);
  call(to, of.split(), with(reads_of(to, of), scale), {to.touched(out, of.by_samples)}, named(to, of.x),
       [=](Memory memory, const Part& part) {
         const Classes classes = of.of(memory);
         of.each_run(of.of(part), [&](int64_t at, int64_t first, int64_t count) {
           float* const by_x = floats(memory, out) + first;
           // Rows lie one behind the other; of a plane each class has a run.
           if (of.inner == 1)
             std::memset(by_x, 0, size_t(count * of.classes) * sizeof(float));
           else
             for (int64_t c = 0; c < of.classes; ++c)
               std::memset(by_x + c * of.inner, 0, size_t(count) * sizeof(float));
           for (int64_t i = 0; i < count; ++i) {
             const int64_t t = longs(memory, of.target)[at + i];
             if (t == of.ignored) continue;
             by_x[i * (of.inner == 1 ? of.classes : 1) + t * of.inner] = -classes.weight_of(t) * scale.of(memory);
           }
         });
       });
  return true;
}

}  // namespace

bool lower_classes(Lowering& to) {
  switch (to.node().op) {
    case Op::cross_entropy: return cross_entropy(to);
    case Op::cross_entropy_backward: return cross_entropy_backward(to);
    case Op::focal: return focal(to);
    case Op::soft_cross_entropy: return soft_cross_entropy(to);
    case Op::nll: return nll(to);
    case Op::nll_backward: return nll_backward(to);
    default: return false;
  }
}

}  // namespace ltr::plan
