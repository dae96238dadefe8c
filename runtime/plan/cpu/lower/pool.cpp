// Largest elements and means of windows of images and lines, and their gradients.

#include <algorithm>

#include "runtime/kernels/pool.h"
#include "runtime/plan/cpu/lower/function.h"

namespace ltr::plan {

namespace {

using kernels::pool_kernel;
using kernels::Range;
using kernels::Windows;

/// Windows on the planes of an image, or on lines, which are planes of one row.
struct Pool {
  int64_t height = 1, width = 1;
  std::vector<Range> rows, columns;
  bool are_pairs = false;
  int64_t reach = 0, every = 0, front = 0;

  Windows windows() const {
    return {height, width, rows.data(), int64_t(rows.size()), columns.data(), int64_t(columns.size()), are_pairs,
            reach,  every, front};
  }
  /// For people: how the largest of windows are found, and why so.
  Str why_so() const {
    if (are_pairs) return "windows of 2 x 2, side by side";
    if (every > 0) return fmt::format("vectors go along windows, every {}", every);
    return fmt::format("window by window: vectors are for {} columns at most, every 1 or 2", Windows::kMostReach);
  }
  int64_t plane() const { return height * width; }
  int64_t results() const { return int64_t(rows.size() * columns.size()); }
};

/// The sizes of a plane of `x`.
Pool on_planes(const Layout& x, bool is_line) {
  Pool pool;
  pool.width = x.sizes.back();
  if (!is_line) pool.height = x.sizes[x.sizes.size() - 2];
  return pool;
}

/// How windows move along an axis.
struct Move {
  int64_t kernel = 1, stride = 1, padding = 0;
  bool counts_padding = false;  ///< in a mean; what lies beyond it never does
};

/// The first `count` windows of an axis of `size` places. The last one may reach beyond its padding.
std::vector<Range> moved(int64_t size, int64_t count, const Move& move) {
  std::vector<Range> ranges;
  for (int64_t i = 0; i < count; ++i) {
    const int64_t at = i * move.stride - move.padding, begin = std::max<int64_t>(at, 0),
                  end = std::min(at + move.kernel, size);
    const int64_t counted = std::min(at + move.kernel, size + move.padding) - at;
    ranges.push_back({begin, end, move.counts_padding ? counted : end - begin});
  }
  return ranges;
}

/// As many as are asked for, as even as they can be.
std::vector<Range> spread(int64_t size, int64_t count) {
  std::vector<Range> ranges;
  for (int64_t i = 0; i < count; ++i) {
    const int64_t begin = i * size / count, end = ((i + 1) * size + count - 1) / count;
    ranges.push_back({begin, end, end - begin});
  }
  return ranges;
}

bool are_pairs(const std::vector<Range>& ranges) {
  for (size_t i = 0; i < ranges.size(); ++i) {
    if (ranges[i].begin != int64_t(2 * i) || ranges[i].end != int64_t(2 * i) + 2) return false;
  }
  return true;
}

/// A number for each axis of a list, or the one number there is; `other` where none is.
Ints both(const Argument& argument, const Ints& other) {
  if (const auto* one = std::get_if<int64_t>(&argument)) return {*one};
  const Ints& list = std::get<Ints>(argument);
  return list.empty() ? other : list;
}

/// What a node says from argument `first` on: kernel, stride, padding. `y` is what the windows of `x` give.
Pool moving_pool(const Lowering& to, const Layout& x, const Layout& y, size_t first, bool is_line,
                 bool counts_padding) {
  const std::vector<Argument>& arguments = to.node().arguments;
  const Ints kernel = both(arguments[first], {}), stride = both(arguments[first + 1], kernel),
             padding = both(arguments[first + 2], {0});
  Pool pool = on_planes(x, is_line);
  pool.columns = moved(pool.width, y.sizes.back(), {kernel.back(), stride.back(), padding.back(), counts_padding});
  if (stride.back() <= 2 && kernel.back() <= Windows::kMostReach) {
    pool.reach = kernel.back();
    pool.every = stride.back();
    pool.front = padding.back();
  }
  pool.rows = is_line
                  ? std::vector<Range>{{0, 1, 1}}
                  : moved(pool.height, y.sizes[y.sizes.size() - 2], {kernel[0], stride[0], padding[0], counts_padding});
  pool.are_pairs = are_pairs(pool.rows) && are_pairs(pool.columns);
  return pool;
}

/// Whether elements of windows lie side by side, as the kernels take them.
bool are_dense(const Lowering& to, size_t dilation) {
  const Ints gaps = both(to.node().arguments[dilation], {1});
  return std::ranges::all_of(gaps, [](int64_t one) { return one == 1; });
}

Pool spread_pool(const Layout& x, const Layout& y, bool is_line) {
  Pool pool = on_planes(x, is_line);
  pool.columns = spread(pool.width, y.sizes.back());
  pool.rows = is_line ? std::vector<Range>{{0, 1, 1}} : spread(pool.height, y.sizes[y.sizes.size() - 2]);
  return pool;
}

/// Planes of `out`, and of what it is computed from: of each thread its samples.
template <class Body>
void by_planes(Lowering& to, const Pool& pool, std::vector<Layout> from, const Layout& out, const Layout& x,
               const Body& body) {
  bool by_samples = to.is_apart(out);
  for (const Layout& one : from) by_samples = by_samples && to.is_apart(one);
  const Rows planes{x.count() / pool.plane(), pool.plane(), by_samples};
  std::vector<Touched> reads;
  for (const Layout& one : from) reads.push_back(to.touched(one, by_samples));
  call(
      to, planes.split(), std::move(reads), {to.touched(out, by_samples)},
      fmt::format("[{}] {}", fmt::join(x.sizes, ", "), name_of(to.node().op)),
      [=](Memory memory, const Part& part) {
        const auto [begin, end] = planes.of(part);
        body(memory, begin, end - begin, reinterpret_cast<float*>(part.scratch));
      },
      pool.windows().scratch() * int64_t(sizeof(float)));
}

bool forward(Lowering& to, bool is_line, bool is_spread, bool is_max) {
  if (!to.is_f32({to.argument(0)}) || (is_max && !are_dense(to, 4))) return false;
  const Layout x = to.side_by_side(to.layout(to.argument(0)), DType::F32), y = to.layout(to.result());
  const bool counts_padding = !is_spread && !is_max && to.node().host<bool>(4);
  const Pool pool = is_spread ? spread_pool(x, y, is_line) : moving_pool(to, x, y, 1, is_line, counts_padding);
  const auto function = is_max ? pool_kernel().max : pool_kernel().mean;
  by_planes(to, pool, {x}, y, x, [=](Memory memory, int64_t begin, int64_t planes, float* scratch) {
    function(pool.windows(), floats(memory, x) + begin * pool.plane(), planes,
             floats(memory, y) + begin * pool.results(), scratch);
  });
  if (is_max) to.explain(pool.why_so());
  return true;
}

bool max_backward(Lowering& to) {
  if (!to.is_f32({to.argument(0), to.argument(1)}) || !are_dense(to, 5)) return false;
  const Layout by_y = to.side_by_side(to.layout(to.argument(0)), DType::F32),
               x = to.side_by_side(to.layout(to.argument(1)), DType::F32), by_x = to.layout(to.result());
  const Pool pool = moving_pool(to, x, by_y, 2, to.node().host<Ints>(2).size() == 1, false);
  by_planes(to, pool, {by_y, x}, by_x, x, [=](Memory memory, int64_t begin, int64_t planes, float* scratch) {
    pool_kernel().max_slope(pool.windows(), floats(memory, x) + begin * pool.plane(),
                            floats(memory, by_y) + begin * pool.results(), planes,
                            floats(memory, by_x) + begin * pool.plane(), scratch);
  });
  to.explain(pool.why_so());
  return true;
}

/// What a mean was of does not matter, only where it lay.
bool mean_backward(Lowering& to, bool is_spread) {
  if (!to.is_f32({to.argument(0), to.argument(1)})) return false;
  const Layout by_y = to.side_by_side(to.layout(to.argument(0)), DType::F32), by_x = to.layout(to.result());
  const bool is_line = is_spread ? by_x.sizes.size() == 3 : to.node().host<Ints>(2).size() == 1;
  const Pool pool =
      is_spread ? spread_pool(by_x, by_y, is_line) : moving_pool(to, by_x, by_y, 2, is_line, to.node().host<bool>(5));
  by_planes(to, pool, {by_y}, by_x, by_x, [=](Memory memory, int64_t begin, int64_t planes, float* scratch) {
    pool_kernel().mean_slope(pool.windows(), floats(memory, by_y) + begin * pool.results(), planes,
                             floats(memory, by_x) + begin * pool.plane(), scratch);
  });
  return true;
}

}  // namespace

bool lower_pool(Lowering& to) {
  switch (to.node().op) {
    case Op::max_pool1d: return forward(to, true, false, true);
    case Op::max_pool2d: return forward(to, false, false, true);
    case Op::avg_pool1d: return forward(to, true, false, false);
    case Op::avg_pool2d: return forward(to, false, false, false);
    case Op::adaptive_avg_pool1d: return forward(to, true, true, false);
    case Op::adaptive_avg_pool2d: return forward(to, false, true, false);
    case Op::max_pool_backward: return max_backward(to);
    case Op::avg_pool_backward: return mean_backward(to, false);
    case Op::adaptive_avg_pool_backward: return mean_backward(to, true);
    default: return false;
  }
}

}  // namespace ltr::plan
