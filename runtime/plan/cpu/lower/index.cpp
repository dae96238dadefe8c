// What takes elements by where they stand, and puts them there.

#include <algorithm>
#include <cstring>

#include "runtime/plan/cpu/lower/function.h"

namespace ltr::plan {

namespace {

/// Whether `count` things in front of an axis go by samples, in all of these; each is `count` times as much as one of them.
bool go_by_samples(const Lowering& to, int64_t count, std::initializer_list<const Layout*> layouts) {
  return std::all_of(layouts.begin(), layouts.end(), [&](const Layout* one) {
    Layout flat = dense(one->root, {count, one->count() / count});
    flat.offset = one->offset;
    return to.is_apart(flat);
  });
}

// ---- one index for each element

/// Whether `index` is as large as `x`, but along the axis.
bool fits(const Layout& x, const Layout& index, size_t axis) {
  if (x.sizes.size() != index.sizes.size() || x.sizes.empty() || index.count() == 0) return false;
  for (size_t i = 0; i < x.sizes.size(); ++i) {
    if (i != axis && x.sizes[i] != index.sizes[i]) return false;
  }
  return true;
}

bool gather(Lowering& to) {
  const ValueId from = to.argument(0), by = to.argument(2);
  const size_t axis = axis_of(to.node().host<int64_t>(1), to.layout(from));
  if (!to.is_f32({from}) || to.dtype(by) != DType::I64 || !to.layout(by).is_dense()) return false;
  if (!fits(to.layout(from), to.layout(by), axis)) return false;
  const Layout x = to.side_by_side(to.layout(from), DType::F32), index = to.layout(by), out = to.layout(to.result());
  const Middle of = middle_of(x, int64_t(axis));
  const int64_t size = x.sizes[axis], taken = index.sizes[axis];
  const bool by_samples = go_by_samples(to, of.outer, {&x, &index, &out});
  const Rows rows{of.outer, taken * of.inner, by_samples};
  const auto own = [&](const Layout& one) { return Touched{one.root, by_samples}; };
  call(to, rows.split(), {own(x), own(index)}, {own(out)}, named(to, x), [=](Memory memory, const Part& part) {
    const auto [begin, end] = rows.of(part);
    for (int64_t o = begin; o < end; ++o) {
      const float* const source = floats(memory, x) + o * size * of.inner;
      const int64_t* const places = longs(memory, index) + o * rows.width;
      float* const into = floats(memory, out) + o * rows.width;
      for (int64_t i = 0; i < taken; ++i) {
        for (int64_t k = 0; k < of.inner; ++k) {
          const int64_t at = places[i * of.inner + k];
          if (at < 0 || at >= size) return part.fails();
          into[i * of.inner + k] = source[at * of.inner + k];
        }
      }
    }
  });
  return true;
}

/// What comes to one place is added, or takes it, in the order of the source, which is broadcast to the index.
bool scatter(Lowering& to, bool adds) {
  const ValueId from = to.argument(0), by = to.argument(2), given = to.argument(3);
  const size_t axis = axis_of(to.node().host<int64_t>(1), to.layout(from));
  if (!to.is_f32({from, given}) || to.dtype(by) != DType::I64 || !to.layout(by).is_dense()) return false;
  if (!fits(to.layout(from), to.layout(by), axis)) return false;
  const Layout x = to.side_by_side(to.layout(from), DType::F32),
               source = to.side_by_side(expanded(to.layout(given), to.layout(by).sizes), DType::F32),
               index = to.layout(by), out = to.layout(to.result());
  const Middle of = middle_of(x, int64_t(axis));
  const int64_t size = x.sizes[axis], taken = index.sizes[axis];
  const bool by_samples = go_by_samples(to, of.outer, {&x, &index, &source, &out});
  const Rows rows{of.outer, taken * of.inner, by_samples};
  const auto own = [&](const Layout& one) { return Touched{one.root, by_samples}; };
  call(to, rows.split(), {own(x), own(index), own(source)}, {own(out)}, named(to, x),
       [=](Memory memory, const Part& part) {
         const auto [begin, end] = rows.of(part);
         const int64_t plane = size * of.inner;
         for (int64_t o = begin; o < end; ++o) {
           float* const into = floats(memory, out) + o * plane;
           std::memcpy(into, floats(memory, x) + o * plane, size_t(plane) * sizeof(float));
           const int64_t* const places = longs(memory, index) + o * rows.width;
           const float* const values = floats(memory, source) + o * rows.width;
           for (int64_t i = 0; i < rows.width; ++i) {
             if (places[i] < 0 || places[i] >= size) return part.fails();
             float& place = into[places[i] * of.inner + i % of.inner];
             place = adds ? place + values[i] : values[i];
           }
         }
       });
  return true;
}

// ---- one index for all that lies behind an axis

/// The place that `at` means, of `size`, or -1; it may count from the end where it `wraps`.
int64_t place_of(int64_t at, int64_t size, bool wraps) {
  if (wraps && at < 0) at += size;
  return at < 0 || at >= size ? -1 : at;
}

/// An index of any number of axes stands for that axis.
bool take(Lowering& to, bool wraps) {
  const ValueId from = to.argument(0), by = to.argument(2);
  if (!to.is_f32({from}) || to.dtype(by) != DType::I64 || to.layout(from).sizes.empty()) return false;
  if (!to.layout(by).is_dense()) return false;
  const size_t axis = axis_of(to.node().host<int64_t>(1), to.layout(from));
  const Layout x = to.side_by_side(to.layout(from), DType::F32), index = to.layout(by), out = to.layout(to.result());
  const Middle of = middle_of(x, int64_t(axis));
  const int64_t size = x.sizes[axis], taken = index.count();
  // Rows of all of x, each by its sample's index; or the same places of each sample.
  const bool by_index = of.outer == 1 && to.is_apart(index) && to.is_apart(out);
  const bool by_samples = by_index || go_by_samples(to, of.outer, {&x, &out});
  const Rows rows{of.outer == 1 ? taken : of.outer, of.inner, by_samples};
  call(to, rows.split(), {{x.root, by_samples && !by_index}, {index.root, by_index}}, {{out.root, by_samples}},
       named(to, x), [=](Memory memory, const Part& part) {
         const auto [begin, end] = rows.of(part);
         const int64_t first = of.outer == 1 ? begin : begin * taken, last = of.outer == 1 ? end : end * taken;
         for (int64_t i = first; i < last; ++i) {
           const int64_t at = place_of(longs(memory, index)[i % taken], size, wraps);
           if (at < 0) return part.fails();
           std::memcpy(floats(memory, out) + i * of.inner, floats(memory, x) + (i / taken * size + at) * of.inner,
                       size_t(of.inner) * sizeof(float));
         }
       });
  return true;
}

/// x with `source` at the places of an index, added to what stands there or instead of it, in the order of the index. Threads have
/// samples of their own where these lie in front of the axis, else what lies behind it.
bool put_at(Lowering& to, bool adds, bool wraps) {
  const ValueId from = to.argument(0), by = to.argument(2), given = to.argument(3);
  if (!to.is_f32({from, given}) || to.dtype(by) != DType::I64 || to.layout(from).sizes.empty()) return false;
  if (!to.layout(by).is_dense() || to.layout(by).count() == 0) return false;
  const size_t axis = axis_of(to.node().host<int64_t>(1), to.layout(from));
  Ints sizes = to.layout(from).sizes;
  sizes.erase(sizes.begin() + ptrdiff_t(axis));
  sizes.insert(sizes.begin() + ptrdiff_t(axis), to.layout(by).sizes.begin(), to.layout(by).sizes.end());
  if (to.layout(given).sizes.size() > sizes.size()) return false;
  const Layout x = to.side_by_side(to.layout(from), DType::F32),
               source = to.side_by_side(expanded(to.layout(given), sizes), DType::F32), index = to.layout(by),
               out = to.layout(to.result());
  const Middle of = middle_of(x, int64_t(axis));
  const int64_t size = x.sizes[axis], taken = index.count();
  const bool by_samples = go_by_samples(to, of.outer, {&x, &source, &out});
  const Rows rows{of.outer, size * of.inner, by_samples};
  const auto own = [&](const Layout& one) { return Touched{one.root, by_samples}; };
  call(to, rows.split(), {own(x), {index.root, false}, own(source)}, {own(out)}, named(to, x),
       [=](Memory memory, const Part& part) {
         const auto [first, last] = by_samples ? rows.of(part) : std::pair<int64_t, int64_t>(0, of.outer);
         const auto [begin, end] = by_samples ? std::pair<int64_t, int64_t>(0, of.inner) : part.share(of.inner);
         const auto bytes = size_t(end - begin) * sizeof(float);
         if (begin == end) return;
         for (int64_t o = first; o < last; ++o) {
           float* const into = floats(memory, out) + o * rows.width;
           const float* const old = floats(memory, x) + o * rows.width;
           for (int64_t i = 0; i < size; ++i)
             std::memcpy(into + i * of.inner + begin, old + i * of.inner + begin, bytes);
           for (int64_t i = 0; i < taken; ++i) {
             const int64_t at = place_of(longs(memory, index)[i], size, wraps);
             if (at < 0) return part.fails();
             const float* const value = floats(memory, source) + (o * taken + i) * of.inner;
             if (!adds) std::memcpy(into + at * of.inner + begin, value + begin, bytes);
             for (int64_t k = begin; adds && k < end; ++k) into[at * of.inner + k] += value[k];
           }
         }
       });
  return true;
}

bool one_hot(Lowering& to) {
  const ValueId by = to.argument(0);
  const int64_t classes = to.node().host<int64_t>(1);
  if (to.dtype(by) != DType::I64 || !to.layout(by).is_dense() || classes < 1) return false;
  const Layout index = to.layout(by), out = to.layout(to.result());
  const bool by_samples = to.is_apart(index) && to.is_apart(out);
  const Rows rows{index.count(), classes, by_samples};
  call(to, rows.split(), {to.touched(index, by_samples)}, {to.touched(out, by_samples)}, named(to, out),
       [=](Memory memory, const Part& part) {
         const auto [begin, end] = rows.of(part);
         std::memset(longs(memory, out) + begin * classes, 0, size_t((end - begin) * classes) * sizeof(int64_t));
         for (int64_t i = begin; i < end; ++i) {
           const int64_t at = longs(memory, index)[i];
           if (at < 0 || at >= classes) return part.fails();
           longs(memory, out)[i * classes + at] = 1;
         }
       });
  return true;
}

bool arange(Lowering& to) {
  const Layout out = to.layout(to.result());
  if (to.dtype(to.result()) != DType::I64) return false;
  call(to, Split::Alone, {}, {{out.root, false}}, named(to, out), [=](Memory memory, const Part&) {
    for (int64_t i = 0; i < out.count(); ++i) longs(memory, out)[i] = i;
  });
  return true;
}

// ---- other orders

/// Each place of an axis takes what stands at `places` of it.
Layout moved(Lowering& to, const Layout& x, size_t axis, std::vector<int64_t> places, ValueId into) {
  const Layout out = dense(into, x.sizes);
  const Middle of = middle_of(x, int64_t(axis));
  const int64_t size = x.sizes[axis];
  const bool by_samples = go_by_samples(to, of.outer, {&x, &out});
  const Rows rows{of.outer, size * of.inner, by_samples};
  const auto own = [&](const Layout& one) { return Touched{one.root, by_samples}; };
  call(to, rows.split(), {own(x)}, {own(out)}, named(to, x),
       [=, places = std::move(places)](Memory memory, const Part& part) {
         const auto [begin, end] = rows.of(part);
         for (int64_t o = begin; o < end; ++o) {
           const float* const from = floats(memory, x) + o * rows.width;
           float* const put = floats(memory, out) + o * rows.width;
           for (int64_t i = 0; i < size; ++i) {
             const float* const run = from + places[size_t(i)] * of.inner;
             std::copy_n(run, of.inner, put + i * of.inner);
           }
         }
       });
  return out;
}

bool flip(Lowering& to) {
  if (!to.is_f32({to.argument(0)}) || to.layout(to.argument(0)).sizes.empty()) return false;
  Layout x = to.side_by_side(to.layout(to.argument(0)), DType::F32);
  const Ints& axes = to.node().host<Ints>(1);
  if (axes.empty()) return false;
  for (size_t i = 0; i < axes.size(); ++i) {
    const size_t axis = axis_of(axes[i], x);
    std::vector<int64_t> places(size_t(x.sizes[axis]));
    for (size_t at = 0; at < places.size(); ++at) places[at] = int64_t(places.size() - 1 - at);
    const ValueId into = i + 1 == axes.size() ? to.result() : to.temporary(DType::F32, x.count());
    x = moved(to, x, axis, std::move(places), into);
  }
  return true;
}

bool roll(Lowering& to) {
  if (!to.is_f32({to.argument(0)}) || to.layout(to.argument(0)).sizes.empty()) return false;
  const Layout x = to.side_by_side(to.layout(to.argument(0)), DType::F32);
  const size_t axis = axis_of(to.node().host<int64_t>(2), x);
  const int64_t size = x.sizes[axis], shift = to.node().host<int64_t>(1) % size;
  std::vector<int64_t> places(static_cast<size_t>(size));
  for (int64_t at = 0; at < size; ++at) places[size_t(at)] = (at - shift + size) % size;
  moved(to, x, axis, std::move(places), to.result());
  return true;
}

// ---- parts

/// x with `value`, which is broadcast, instead of the places [begin, begin + size) of an axis.
bool put(Lowering& to, size_t axis, int64_t begin, int64_t size, Layout value) {
  const Layout x = to.side_by_side(to.layout(to.argument(0)), DType::F32), out = to.layout(to.result());
  Ints sizes = x.sizes;
  sizes[axis] = size;
  value = to.side_by_side(expanded(value, sizes), DType::F32);
  const Middle of = middle_of(x, int64_t(axis));
  const bool by_samples = go_by_samples(to, of.outer, {&x, &value, &out});
  const int64_t all = x.sizes[axis] * of.inner, first = begin * of.inner, part_of_it = size * of.inner;
  const Rows rows{of.outer, all, by_samples};
  const auto own = [&](const Layout& one) { return Touched{one.root, by_samples}; };
  call(to, rows.split(), {own(x), own(value)}, {own(out)}, named(to, x), [=](Memory memory, const Part& part) {
    const auto [from, end] = rows.of(part);
    const auto copy = [](float* into, const float* source, int64_t count) {
      std::memcpy(into, source, size_t(count) * sizeof(float));
    };
    for (int64_t o = from; o < end; ++o) {
      float* const into = floats(memory, out) + o * all;
      const float* const source = floats(memory, x) + o * all;
      copy(into, source, first);
      copy(into + first, floats(memory, value) + o * part_of_it, part_of_it);
      copy(into + first + part_of_it, source + first + part_of_it, all - first - part_of_it);
    }
  });
  return true;
}

bool put_select(Lowering& to) {
  const Layout& x = to.layout(to.argument(0));
  if (!to.is_f32({to.argument(0), to.argument(3)})) return false;
  const size_t axis = axis_of(to.node().host<int64_t>(1), x);
  const int64_t index = to.node().host<int64_t>(2), place = index < 0 ? index + x.sizes[axis] : index;
  Layout value = to.layout(to.argument(3));
  Ints sizes = x.sizes;
  sizes.erase(sizes.begin() + ptrdiff_t(axis));
  value = expanded(value, sizes);
  value.sizes.insert(value.sizes.begin() + ptrdiff_t(axis), 1);
  value.strides.insert(value.strides.begin() + ptrdiff_t(axis), 0);
  return put(to, axis, place, 1, std::move(value));
}

bool put_slice(Lowering& to) {
  const Node& node = to.node();
  const Layout& x = to.layout(to.argument(0));
  if (!to.is_f32({to.argument(0), to.argument(4)})) return false;
  const size_t axis = axis_of(node.host<int64_t>(1), x);
  const int64_t size = x.sizes[axis];
  const auto bound = [&](size_t at, int64_t other) {
    const auto* given = std::get_if<int64_t>(&node.arguments[at]);
    if (given == nullptr) return other;
    return std::clamp<int64_t>(*given < 0 ? *given + size : *given, 0, size);
  };
  const int64_t begin = bound(2, 0), end = bound(3, size);
  if (end <= begin) return false;
  return put(to, axis, begin, end - begin, to.layout(to.argument(4)));
}

}  // namespace

bool lower_index(Lowering& to) {
  switch (to.node().op) {
    case Op::gather: return gather(to);
    case Op::scatter: return scatter(to, false);
    case Op::scatter_add: return scatter(to, true);
    case Op::index_select: return take(to, false);
    case Op::index_tensor: return take(to, true);
    case Op::index_add: return put_at(to, true, false);
    case Op::put_add: return put_at(to, true, true);
    case Op::put_tensor: return put_at(to, false, true);
    case Op::one_hot: return one_hot(to);
    case Op::arange: return arange(to);
    case Op::flip: return flip(to);
    case Op::roll: return roll(to);
    case Op::put_select: return put_select(to);
    case Op::put_slice: return put_slice(to);
    default: return false;
  }
}

}  // namespace ltr::plan
