#include "runtime/plan/cpu/layout.h"

#include <algorithm>

namespace ltr::plan {

int64_t Layout::count() const {
  int64_t count = 1;
  for (const int64_t size : sizes) count *= size;
  return count;
}

bool Layout::is_dense() const {
  int64_t stride = 1;
  for (size_t axis = sizes.size(); axis-- > 0;) {
    if (sizes[axis] != 1 && strides[axis] != stride) return false;
    stride *= sizes[axis];
  }
  return true;
}

Layout dense(ValueId root, const Ints& sizes) {
  Layout layout{root, 0, sizes, Ints(sizes.size(), 1)};
  for (size_t axis = sizes.size(); axis-- > 1;)
    layout.strides[axis - 1] = layout.strides[axis] * std::max<int64_t>(sizes[axis], 1);
  return layout;
}

/// Axes of the old form that lie evenly become one, which axes of the new form divide.
Option<Layout> reshaped(const Layout& of, const Ints& sizes) {
  if (of.is_dense()) {
    Layout layout = dense(of.root, sizes);
    layout.offset = of.offset;
    return layout;
  }
  Layout layout{of.root, of.offset, sizes, Ints(sizes.size(), 1)};
  auto next = ptrdiff_t(sizes.size()) - 1;
  int64_t run = 1;  // elements of the old axes that were joined so far
  int64_t done = 1;
  int64_t base = of.strides.empty() ? 1 : of.strides.back();
  for (auto axis = ptrdiff_t(of.sizes.size()) - 1; axis >= 0; --axis) {
    run *= of.sizes[size_t(axis)];
    const bool ends = axis == 0 || (of.sizes[size_t(axis - 1)] != 1 && of.strides[size_t(axis - 1)] != run * base);
    if (!ends) continue;
    while (next >= 0 && (done < run || sizes[size_t(next)] == 1)) {
      layout.strides[size_t(next)] = done * base;
      done *= sizes[size_t(next)];
      --next;
    }
    if (done != run) return std::nullopt;
    if (axis > 0) {
      base = of.strides[size_t(axis - 1)];
      run = done = 1;
    }
  }
  return next == -1 ? Option<Layout>(layout) : std::nullopt;
}

Layout expanded(const Layout& of, const Ints& sizes) {
  Layout layout{of.root, of.offset, sizes, Ints(sizes.size(), 0)};
  const size_t front = sizes.size() - of.sizes.size();
  for (size_t axis = 0; axis < of.sizes.size(); ++axis) {
    if (of.sizes[axis] == sizes[front + axis]) layout.strides[front + axis] = of.strides[axis];
  }
  return layout;
}

size_t axis_of(int64_t axis, const Layout& of) { return size_t(axis < 0 ? axis + int64_t(of.sizes.size()) : axis); }

Layout transposed(Layout of) {
  std::swap(of.sizes[of.sizes.size() - 2], of.sizes.back());
  std::swap(of.strides[of.strides.size() - 2], of.strides.back());
  return of;
}

Layout diagonal_of(Layout of, int64_t offset, int64_t a, int64_t b) {
  const size_t first = axis_of(a, of), second = axis_of(b, of);
  const int64_t rows = of.sizes[first] + std::min<int64_t>(offset, 0),
                columns = of.sizes[second] - std::max<int64_t>(offset, 0);
  const int64_t stride = of.strides[first] + of.strides[second];
  of.offset += offset < 0 ? -offset * of.strides[first] : offset * of.strides[second];
  for (Ints* of_axes : {&of.sizes, &of.strides}) {
    of_axes->erase(of_axes->begin() + ptrdiff_t(std::max(first, second)));
    of_axes->erase(of_axes->begin() + ptrdiff_t(std::min(first, second)));
  }
  of.sizes.push_back(std::max<int64_t>(std::min(rows, columns), 0));
  of.strides.push_back(stride);
  return of;
}

namespace {

/// `size` of axis `axis` from `begin` on.
Layout part(const Layout& of, size_t axis, int64_t begin, int64_t size) {
  Layout layout = of;
  layout.offset += begin * of.strides[axis];
  layout.sizes[axis] = size;
  return layout;
}

}  // namespace

Option<std::vector<Layout>> views_of(const Node& node, const Graph& graph, const std::deque<Layout>& layouts) {
  const auto* argument = node.arguments.empty() ? nullptr : std::get_if<ValueRef>(&node.arguments[0]);
  if (argument == nullptr || argument->id == kNone) return std::nullopt;
  const Layout& x = layouts[argument->id];
  const Ints& sizes = graph.values[node.results[0]].sizes;
  using One = std::vector<Layout>;
  switch (node.op) {
    case Op::stop_grad:
    case Op::tracked: return One{x};
    case Op::clone:
    case Op::or_else:
      // What others may write later is copied.
      if (graph.values[x.root].kind != Value::Kind::Result) return std::nullopt;
      return One{x};
    case Op::reshape:
    case Op::flatten:
    case Op::squeeze:
    case Op::unsqueeze: {
      const Option<Layout> found = reshaped(x, sizes);
      return found ? Option<One>(One{*found}) : std::nullopt;
    }
    case Op::expand: return One{expanded(x, sizes)};
    case Op::permute: {
      Layout layout = x;
      const Ints& axes = node.host<Ints>(1);
      for (size_t i = 0; i < axes.size(); ++i) {
        layout.sizes[i] = x.sizes[axis_of(axes[i], x)];
        layout.strides[i] = x.strides[axis_of(axes[i], x)];
      }
      return One{layout};
    }
    case Op::transpose: {
      Layout layout = x;
      const size_t a = axis_of(node.host<int64_t>(1), x), b = axis_of(node.host<int64_t>(2), x);
      std::swap(layout.sizes[a], layout.sizes[b]);
      std::swap(layout.strides[a], layout.strides[b]);
      return One{layout};
    }
    case Op::diagonal: return One{diagonal_of(x, node.host<int64_t>(1), node.host<int64_t>(2), node.host<int64_t>(3))};
    case Op::slice: {
      const size_t axis = axis_of(node.host<int64_t>(1), x);
      const auto* start = std::get_if<int64_t>(&node.arguments[2]);
      int64_t begin = start == nullptr ? 0 : *start < 0 ? *start + x.sizes[axis] : *start;
      begin = std::clamp<int64_t>(begin, 0, x.sizes[axis]);
      return One{part(x, axis, begin, sizes[axis])};
    }
    case Op::select: {
      const size_t axis = axis_of(node.host<int64_t>(1), x);
      const int64_t index = node.host<int64_t>(2);
      Layout layout = part(x, axis, index < 0 ? index + x.sizes[axis] : index, 1);
      layout.sizes.erase(layout.sizes.begin() + ptrdiff_t(axis));
      layout.strides.erase(layout.strides.begin() + ptrdiff_t(axis));
      return One{layout};
    }
    case Op::chunk:
    case Op::split: {
      const size_t axis = axis_of(node.host<int64_t>(2), x);
      One parts;
      int64_t begin = 0;
      for (const ValueId id : node.results) {
        const int64_t size = graph.values[id].sizes[axis];
        parts.push_back(part(x, axis, begin, size));
        begin += size;
      }
      return parts;
    }
    default: return std::nullopt;
  }
}

}  // namespace ltr::plan
