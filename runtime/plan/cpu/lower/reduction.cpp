// What makes one of many: sums, means, variances, the largest and the smallest, of all or along axes.

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "runtime/kernels/extremes.h"
#include "runtime/kernels/norm.h"
#include "runtime/kernels/rows.h"
#include "runtime/plan/cpu/lower/function.h"

namespace ltr::plan {

using kernels::Extreme;
using kernels::extreme_kernel;
using kernels::Moments;
using kernels::norm_kernel;
using kernels::row_kernel;

/// out[] = Σ x · scale: each sample by itself, then these in their order, so that it does not hang on threads.
void sum_all(Lowering& to, const Layout& x, double scale, const Layout& out) {
  const int64_t samples = to.samples();
  const bool by_samples = to.is_apart(x) || (to.elements()[x.root] == x.count() && x.count() % samples == 0);
  if (!by_samples) {
    call(to, Split::Alone, {{x.root, false}}, {{out.root, false}}, fmt::format("[{}] sum", fmt::join(x.sizes, ", ")),
         [=, count = x.count()](Memory memory, const Part&) {
           *floats(memory, out) = float(double(row_kernel().sum(floats(memory, x), count)) * scale);
         });
    return;
  }
  const Layout parts = dense(to.temporary(DType::F32, samples), {samples});
  const int64_t each = x.count() / samples;
  call(to, Split::Samples, {{x.root, true}}, {{parts.root, true}}, fmt::format("[{}] sums", fmt::join(x.sizes, ", ")),
       [=](Memory memory, const Part& part) {
         for (int64_t s = part.begin; s < part.end; ++s)
           floats(memory, parts)[s] =
               each == 1 ? floats(memory, x)[s] : row_kernel().sum(floats(memory, x) + s * each, each);
       });
  call(to, Split::Alone, {{parts.root, false}}, {{out.root, false}}, fmt::format("[{}] sum", samples),
       [=](Memory memory, const Part&) {
         double sum = 0;
         for (int64_t s = 0; s < samples; ++s) sum += double(floats(memory, parts)[s]);
         *floats(memory, out) = float(sum * scale);
       });
}

namespace {

/// `body(memory, o, x, out)` for what lies in front of the axis: of each thread its samples, or a share. `out`: of elements of `size`.
template <class Body>
void along(Lowering& to, const Layout& x, const Middle& of, const std::vector<Layout>& out, const Str& text,
           const Body& body, int64_t scratch = 0) {
  Layout flat = dense(x.root, {of.outer, of.width, of.inner});
  flat.offset = x.offset;
  bool by_samples = to.is_apart(flat);
  for (const Layout& one : out) by_samples = by_samples && to.is_apart(dense(one.root, {of.outer, of.inner}));
  const auto own = [&](const Layout& one) { return Touched{one.root, by_samples}; };
  std::vector<Touched> writes;
  for (const Layout& one : out) writes.push_back(own(one));
  const Rows rows{of.outer, of.width * of.inner, by_samples};
  call(
      to, rows.split(), {own(x)}, std::move(writes), fmt::format("[{}, {}, {}] {}", of.outer, of.width, of.inner, text),
      [=](Memory memory, const Part& part) {
        const auto [begin, end] = rows.of(part);
        for (int64_t o = begin; o < end; ++o) body(memory, o, floats(memory, x) + o * rows.width, part);
      },
      scratch);
}

/// Sums over all axes in front of some, which stay: [rows, columns] becomes [columns].
void sum_front(Lowering& to, const Layout& x, int64_t columns, double scale, const Layout& out) {
  const int64_t rows = x.count() / columns;
  call(to, columns >= 64 ? Split::Shares : Split::Alone, {{x.root, false}}, {{out.root, false}},
       fmt::format("[{}, {}] sum", rows, columns), [=, is_alone = columns < 64](Memory memory, const Part& part) {
         const auto [begin, end] = is_alone ? std::pair<int64_t, int64_t>(0, columns) : part.share(columns);
         row_kernel().sum_columns(floats(memory, x) + begin, columns, rows, end - begin, floats(memory, out) + begin);
         if (scale == 1) return;
         for (int64_t c = begin; c < end; ++c) floats(memory, out)[c] *= float(scale);
       });
  if (columns < 64) to.explain("", kTooLittle);
}

/// Sums over axes behind some, which stay.
void sum_rows(Lowering& to, const Layout& x, int64_t width, double scale, const Layout& out) {
  const int64_t count = x.count() / width;
  const bool by_samples = to.is_apart(x) && to.is_apart(out);
  const Rows rows{count, width, by_samples};
  call(to, rows.split(), {to.touched(x, by_samples)}, {to.touched(out, by_samples)},
       fmt::format("[{}, {}] sums", count, width), [=](Memory memory, const Part& part) {
         const auto [begin, end] = rows.of(part);
         for (int64_t r = begin; r < end; ++r)
           floats(memory, out)[r] = row_kernel().sum(floats(memory, x) + r * width, width) * float(scale);
       });
}

/// Sums over one axis of three.
void sum_middle(Lowering& to, const Layout& x, const Middle& of, double scale, const Layout& out) {
  if (of.outer == 1) return sum_front(to, x, of.inner, scale, out);
  if (of.inner == 1) return sum_rows(to, x, of.width, scale, out);
  along(to, x, of, {out}, "sums", [=](Memory memory, int64_t o, const float* from, const Part&) {
    float* const sums = floats(memory, out) + o * of.inner;
    row_kernel().sum_columns(from, of.inner, of.width, of.inner, sums);
    if (scale == 1) return;
    for (int64_t i = 0; i < of.inner; ++i) sums[i] *= float(scale);
  });
}

}  // namespace

void sum_along(Lowering& to, const Layout& x, int64_t dim, double scale, const Layout& out) {
  if (x.sizes.size() <= 1) return sum_all(to, x, scale, out);
  sum_middle(to, x, middle_of(x, dim), scale, out);
}

namespace {

bool reduce(Lowering& to, bool is_mean) {
  const ValueId id = to.argument(0);
  if (!to.is_f32({id, to.result()}) || to.layout(id).count() == 0) return false;
  const Layout x = to.side_by_side(to.layout(id), DType::F32), out = to.layout(to.result());
  const auto* dim = std::get_if<int64_t>(&to.node().arguments[1]);
  const double scale = is_mean ? double(out.count()) / double(x.count()) : 1;
  if (dim == nullptr)
    sum_all(to, x, scale, out);
  else
    sum_along(to, x, *dim, scale, out);
  return true;
}

}  // namespace

/// Over the axes that were stretched, from the last to the first; axes that lie together are one.
bool sum_stretched(Lowering& to, const Layout& given, const Layout& out) {
  struct Axis {
    int64_t size;
    bool is_summed;
  };
  std::vector<Axis> axes;
  const size_t front = given.sizes.size() - out.sizes.size();
  for (size_t axis = 0; axis < given.sizes.size(); ++axis) {
    if (given.sizes[axis] == 1) continue;
    const bool is_summed = axis < front || out.sizes[axis - front] == 1;
    if (!is_summed && out.sizes[axis - front] != given.sizes[axis]) return false;
    if (!axes.empty() && axes.back().is_summed == is_summed)
      axes.back().size *= given.sizes[axis];
    else
      axes.push_back({given.sizes[axis], is_summed});
  }
  Layout x = to.side_by_side(given, DType::F32);
  if (std::none_of(axes.begin(), axes.end(), [](const Axis& axis) { return !axis.is_summed; })) {
    sum_all(to, x, 1, out);
    return true;
  }
  int64_t summed = std::count_if(axes.begin(), axes.end(), [](const Axis& axis) { return axis.is_summed; });
  if (summed == 0) {
    PointProgram program = Lowering::program(x.sizes);
    program.store(out.root, DType::F32, program.load(x, DType::F32));
    to.add(std::move(program));
    return true;
  }
  for (; summed > 0; --summed) {
    size_t last = axes.size() - 1;
    while (!axes[last].is_summed) --last;
    Middle of;
    for (size_t i = 0; i < axes.size(); ++i) (i < last ? of.outer : i == last ? of.width : of.inner) *= axes[i].size;
    const Layout next = summed == 1 ? out : dense(to.temporary(DType::F32, of.results()), {of.outer, of.inner});
    sum_middle(to, x, of, 1, next);
    x = next;
    axes.erase(axes.begin() + ptrdiff_t(last));
  }
  return true;
}

namespace {

bool sum_to(Lowering& to) {
  const ValueId id = to.argument(0);
  if (!to.is_f32({id}) || to.layout(id).count() == 0) return false;
  return sum_stretched(to, to.layout(id), to.layout(to.result()));
}

// ---- the largest, the smallest, and where they are

bool extreme(Lowering& to, Extreme which, bool asks_place) {
  const ValueId id = to.argument(0);
  if (!to.is_f32({id}) || to.layout(id).count() == 0) return false;
  const auto* dim = std::get_if<int64_t>(&to.node().arguments[1]);
  const Layout x = to.side_by_side(to.layout(id), DType::F32), out = to.layout(to.result());
  Middle of{1, x.count(), 1};
  if (dim != nullptr && !x.sizes.empty()) of = middle_of(x, *dim);
  const Str text(name_of(to.node().op));
  if (asks_place) {
    along(
        to, x, of, {out}, text,
        [=](Memory memory, int64_t o, const float* from, const Part& part) {
          extreme_kernel().find(which, from, of.width, of.inner, reinterpret_cast<float*>(part.scratch),
                                longs(memory, out) + o * of.inner);
        },
        of.inner * 4);
    return true;
  }
  // Of all: of each sample, then of these.
  if (of.outer == 1 && of.inner == 1 && to.is_apart(x) && to.samples() > 1) {
    const Middle each{to.samples(), x.count() / to.samples(), 1};
    const Layout parts = dense(to.temporary(DType::F32, to.samples()), {to.samples()});
    along(to, x, each, {parts}, text, [=](Memory memory, int64_t o, const float* from, const Part&) {
      extreme_kernel().find(which, from, each.width, 1, floats(memory, parts) + o, nullptr);
    });
    call(to, Split::Alone, {{parts.root, false}}, {{out.root, false}}, text,
         [=, samples = to.samples()](Memory memory, const Part&) {
           extreme_kernel().find(which, floats(memory, parts), samples, 1, floats(memory, out), nullptr);
         });
    return true;
  }
  along(to, x, of, {out}, text, [=](Memory memory, int64_t o, const float* from, const Part&) {
    extreme_kernel().find(which, from, of.width, of.inner, floats(memory, out) + o * of.inner, nullptr);
  });
  return true;
}

// ---- variances

bool variance(Lowering& to, bool is_deviation) {
  const ValueId id = to.argument(0);
  if (!to.is_f32({id}) || to.layout(id).count() == 0) return false;
  const auto* dim = std::get_if<int64_t>(&to.node().arguments[1]);
  const double less = to.node().host<bool>(3) ? 1 : 0;
  const Layout x = to.side_by_side(to.layout(id), DType::F32), out = to.layout(to.result());
  const Str text(name_of(to.node().op));
  const auto value = [=](const Moments& of) {
    const double found = of.squares / (of.count - less);
    return float(is_deviation ? std::sqrt(found) : found);
  };
  if (dim != nullptr && !x.sizes.empty()) {
    const Middle of = middle_of(x, *dim);
    along(
        to, x, of, {out}, text,
        [=](Memory memory, int64_t o, const float* from, const Part& part) {
          auto* const moments = reinterpret_cast<Moments*>(part.scratch);
          if (of.inner == 1)
            *moments = norm_kernel().moments(from, of.width);
          else
            norm_kernel().column_moments(from, of.inner, of.width, of.inner, moments);
          for (int64_t i = 0; i < of.inner; ++i) floats(memory, out)[o * of.inner + i] = value(moments[i]);
        },
        of.inner * int64_t(sizeof(Moments)));
    return true;
  }
  const int64_t parts = to.is_apart(x) ? to.samples() : 1, each = x.count() / parts;
  const Layout moments = dense(to.temporary(DType::F64, parts * 3), {parts, 3});
  const auto at = [moments](Memory memory) { return reinterpret_cast<Moments*>(memory[moments.root]); };
  const Rows rows{parts, each, to.is_apart(x)};
  call(to, rows.split(), {to.touched(x, rows.by_samples)}, {to.touched(moments, rows.by_samples)}, text,
       [=](Memory memory, const Part& part) {
         const auto [begin, end] = rows.of(part);
         for (int64_t i = begin; i < end; ++i)
           at(memory)[i] = norm_kernel().moments(floats(memory, x) + i * each, each);
       });
  call(to, Split::Alone, {{moments.root, false}}, {{out.root, false}}, text, [=](Memory memory, const Part&) {
    Moments all;
    for (int64_t i = 0; i < parts; ++i) all.join(at(memory)[i]);
    *floats(memory, out) = value(all);
  });
  return true;
}

// ---- made of sums and of functions of elements

using kernels::Point;
using Ref = PointProgram::Ref;

/// `make(program, x)` of all elements, in memory of its own.
template <class Make>
Layout mapped(Lowering& to, const Layout& x, const Make& make) {
  const Layout out = dense(to.temporary(DType::F32, x.count()), x.sizes);
  PointProgram program = Lowering::program(x.sizes);
  const Ref from = program.load(x, DType::F32);
  program.store(out.root, DType::F32, make(program, from));
  to.add(std::move(program));
  return out;
}

/// What an axis is reduced to, or all: the memory of `root`, and as one that stretches over x again.
struct Reduced {
  Middle of;
  Layout out, over;
};
Reduced reduced(const Layout& x, const std::optional<int64_t>& dim, ValueId root) {
  Reduced found{{1, x.count(), 1}, dense(root, {}), {}};
  if (!dim || x.sizes.empty()) {
    found.over = expanded(found.out, x.sizes);
    return found;
  }
  found.of = middle_of(x, *dim);
  Ints sizes = x.sizes;
  sizes[axis_of(*dim, x)] = 1;
  found.out = dense(root, sizes);
  found.over = expanded(found.out, x.sizes);
  return found;
}

void sum_over(Lowering& to, const Layout& x, const Reduced& reduced) {
  if (reduced.of.results() == 1) return sum_all(to, x, 1, reduced.out);
  sum_middle(to, x, reduced.of, 1, reduced.out);
}
void largest_over(Lowering& to, const Layout& x, const Reduced& reduced) {
  along(to, x, reduced.of, {reduced.out}, "max", [=](Memory memory, int64_t o, const float* from, const Part&) {
    extreme_kernel().find(Extreme::Largest, from, reduced.of.width, reduced.of.inner,
                          floats(memory, reduced.out) + o * reduced.of.inner, nullptr);
  });
}

std::optional<int64_t> axis_at(const Lowering& to, size_t at) {
  const auto* dim = std::get_if<int64_t>(&to.node().arguments[at]);
  return dim == nullptr ? std::nullopt : std::optional<int64_t>(*dim);
}

/// m + log Σ exp(x - m), of the largest m; m where that is infinite.
bool logsumexp(Lowering& to) {
  if (!to.is_f32({to.argument(0)}) || to.layout(to.argument(0)).count() == 0) return false;
  const Layout x = to.side_by_side(to.layout(to.argument(0)), DType::F32), out = to.layout(to.result());
  const Reduced most = reduced(x, axis_at(to, 1), to.temporary(DType::F32, out.count()));
  const Reduced sum = reduced(x, axis_at(to, 1), to.temporary(DType::F32, out.count()));
  largest_over(to, x, most);
  const Layout each = mapped(to, x, [&](PointProgram& p, Ref from) {
    return p.step(Point::exp, p.step(Point::sub, from, p.load(most.over, DType::F32)));
  });
  sum_over(to, each, sum);
  PointProgram p = Lowering::program(most.out.sizes);
  const Ref m = p.load(most.out, DType::F32), log = p.step(Point::log, p.load(sum.out, DType::F32));
  const Ref is_finite = p.step(Point::lt, p.step(Point::abs, m), p.number(std::numeric_limits<double>::infinity()));
  p.store(out.root, DType::F32, p.step(Point::choose, is_finite, p.step(Point::add, m, log), m));
  to.add(std::move(p));
  return true;
}

/// Σ |x|, the root of Σ x² or another one of powers, the largest |x|.
bool norm(Lowering& to) {
  const double p = to.node().host<double>(1);
  const bool is_largest = p == std::numeric_limits<double>::infinity();
  if (!to.is_f32({to.argument(0)}) || !(p > 0) || to.layout(to.argument(0)).count() == 0) return false;
  const Layout x = to.side_by_side(to.layout(to.argument(0)), DType::F32), out = to.layout(to.result());
  const bool has_root = p != 1 && !is_largest;
  const Layout sizes = mapped(to, x, [&](PointProgram& program, Ref from) {
    if (p == 2) return program.step(Point::square, from);
    const Ref size = program.step(Point::abs, from);
    return has_root ? program.step(Point::pow, size, program.number(p)) : size;
  });
  const Reduced all = reduced(x, axis_at(to, 2), has_root ? to.temporary(DType::F32, out.count()) : out.root);
  if (is_largest)
    largest_over(to, sizes, all);
  else
    sum_over(to, sizes, all);
  if (!has_root) return true;
  PointProgram program = Lowering::program(all.out.sizes);
  const Ref powers = program.load(all.out, DType::F32);
  program.store(out.root, DType::F32,
                p == 2 ? program.step(Point::sqrt, powers) : program.step(Point::pow, powers, program.number(1 / p)));
  to.add(std::move(program));
  return true;
}

/// Products, in doubles.
bool prod(Lowering& to) {
  if (!to.is_f32({to.argument(0), to.result()}) || to.layout(to.argument(0)).count() == 0) return false;
  const Layout x = to.side_by_side(to.layout(to.argument(0)), DType::F32), out = to.layout(to.result());
  const Middle of = reduced(x, axis_at(to, 1), out.root).of;
  along(to, x, of, {out}, "prod", [=](Memory memory, int64_t o, const float* from, const Part&) {
    for (int64_t i = 0; i < of.inner; ++i) {
      double product = 1;
      for (int64_t w = 0; w < of.width; ++w) product *= double(from[w * of.inner + i]);
      floats(memory, out)[o * of.inner + i] = float(product);
    }
  });
  return true;
}

/// Whether any of conditions holds, or all.
bool agree(Lowering& to, bool are_all) {
  if (to.dtype(to.argument(0)) != DType::Bool || to.layout(to.argument(0)).count() == 0) return false;
  const Layout x = to.side_by_side(to.layout(to.argument(0)), DType::Bool), out = to.layout(to.result());
  const Middle of = reduced(x, axis_at(to, 1), out.root).of;
  Layout flat = dense(x.root, {of.outer, of.width * of.inner});
  flat.offset = x.offset;
  const bool by_samples = to.is_apart(flat) && to.is_apart(dense(out.root, {of.outer, of.inner}));
  const Rows rows{of.outer, of.width * of.inner, by_samples};
  call(to, rows.split(), {{x.root, by_samples}}, {{out.root, by_samples}}, named(to, x),
       [=](Memory memory, const Part& part) {
         const auto [begin, end] = rows.of(part);
         for (int64_t o = begin; o < end; ++o) {
           const auto* const from = reinterpret_cast<const bool*>(memory[x.root]) + x.offset + o * rows.width;
           auto* const into = reinterpret_cast<bool*>(memory[out.root]) + o * of.inner;
           std::fill_n(into, of.inner, are_all);
           for (int64_t i = 0; i < rows.width; ++i) {
             bool& is = into[i % of.inner];
             is = are_all ? is && from[i] : is || from[i];
           }
         }
       });
  return true;
}

}  // namespace

bool lower_reduction(Lowering& to) {
  switch (to.node().op) {
    case Op::sum: return reduce(to, false);
    case Op::mean: return reduce(to, true);
    case Op::sum_to: return sum_to(to);
    case Op::max: return extreme(to, Extreme::Largest, false);
    case Op::min: return extreme(to, Extreme::Smallest, false);
    case Op::argmax: return extreme(to, Extreme::Largest, true);
    case Op::argmin: return extreme(to, Extreme::Smallest, true);
    case Op::var: return variance(to, false);
    case Op::std_: return variance(to, true);
    case Op::logsumexp: return logsumexp(to);
    case Op::norm: return norm(to);
    case Op::prod: return prod(to);
    case Op::any: return agree(to, false);
    case Op::all: return agree(to, true);
    default: return false;
  }
}

}  // namespace ltr::plan
