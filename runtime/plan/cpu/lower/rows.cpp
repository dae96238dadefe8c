// Functions of rows: soft-max, layer norm, embeddings.

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstring>

#include "runtime/kernels/rows.h"
#include "runtime/plan/cpu/lower/function.h"

namespace ltr::plan {

namespace {

using kernels::row_kernel;

bool is_last(int64_t dim, const Layout& x) { return dim == -1 || dim + 1 == int64_t(x.sizes.size()); }

// ---- soft-max

}  // namespace

void softmax_along(Lowering& to, const Layout& given, int64_t dim, bool is_log, const Layout& out) {
  const Layout x = to.side_by_side(given, DType::F32);
  if (is_last(dim, x)) {
    const Rows rows = rows_of(to, out);
    const bool by_samples = rows.by_samples && to.is_apart(x);
    const Rows split{rows.count, rows.width, by_samples};
    const auto function = is_log ? row_kernel().log_softmax : row_kernel().softmax;
    call(to, split.split(), {to.touched(x, by_samples)}, {to.touched(out, by_samples)}, named(to, out),
         [=](Memory memory, const Part& part) {
           const auto [begin, end] = split.of(part);
           const int64_t at = begin * split.width;
           function(floats(memory, x) + at, end - begin, split.width, floats(memory, out) + at);
         });
    return to.explain("vectors go along rows, which lie side by side");
  }
  const Middle of = middle_of(x, dim);
  Layout flat = dense(x.root, {of.outer, of.width * of.inner});
  flat.offset = x.offset;
  const bool by_samples = to.is_apart(flat) && to.is_apart(dense(out.root, flat.sizes));
  const Rows rows{of.outer, of.width * of.inner, by_samples};
  const auto function = is_log ? row_kernel().log_softmax_columns : row_kernel().softmax_columns;
  call(to, rows.split(), {{x.root, by_samples}}, {{out.root, by_samples}}, named(to, out),
       [=](Memory memory, const Part& part) {
         const auto [begin, end] = rows.of(part);
         for (int64_t o = begin; o < end; ++o)
           function(floats(memory, x) + o * rows.width, of.width, of.inner, floats(memory, out) + o * rows.width);
       });
  to.explain(fmt::format("vectors go along {} places, which lie side by side", of.inner));
}

namespace {

bool softmax(Lowering& to) {
  const ValueId x = to.argument(0);
  if (!to.is_f32({x}) || to.layout(x).sizes.empty()) return false;
  softmax_along(to, to.layout(x), to.node().host<int64_t>(1), to.node().op == Op::log_softmax, to.layout(to.result()));
  return true;
}

// ---- layer norm

bool layer_norm(Lowering& to) {
  const ValueId x = to.argument(0), weight = to.argument(1), bias = to.argument(2);
  if (!to.is_f32({x, weight, bias})) return false;
  const Layout in = to.side_by_side(to.layout(x), DType::F32), out = to.layout(to.result());
  const Rows rows = rows_of(to, out);
  const double eps = to.node().host<double>(3);
  std::vector<Touched> reads{to.touched(in, rows.by_samples)};
  const Layout w = weight == kNone ? Layout() : to.side_by_side(to.layout(weight), DType::F32);
  const Layout b = bias == kNone ? Layout() : to.side_by_side(to.layout(bias), DType::F32);
  for (const Layout* one : {&w, &b}) {
    if (one->root != kNone) reads.push_back({one->root, false});
  }
  call(to, rows.split(), std::move(reads), {to.touched(out, rows.by_samples)},
       fmt::format("[{}] layer_norm", fmt::join(out.sizes, ", ")), [=](Memory memory, const Part& part) {
         const auto [begin, end] = rows.of(part);
         const int64_t at = begin * rows.width;
         row_kernel().layer_norm(floats(memory, in) + at, w.root == kNone ? nullptr : floats(memory, w),
                                 b.root == kNone ? nullptr : floats(memory, b), eps, end - begin, rows.width,
                                 floats(memory, out) + at);
       });
  return true;
}

/// The gradients of weight and bias are sums over all rows: of each part here, then of the parts in their order.
bool layer_norm_backward(Lowering& to) {
  const Node& node = to.node();
  const ValueId weight = to.argument(2);
  if (!to.is_f32({to.argument(0), to.argument(1), weight})) return false;
  const Layout by_y = to.side_by_side(to.layout(to.argument(0)), DType::F32);
  const Layout x = to.side_by_side(to.layout(to.argument(1)), DType::F32);
  const Layout w = weight == kNone ? Layout() : to.side_by_side(to.layout(weight), DType::F32);
  const Layout by_x = to.layout(node.results[0]);
  const double eps = node.host<double>(3);
  const Rows rows = rows_of(to, by_x);
  const int64_t width = rows.width;
  if (!rows.by_samples || !to.is_apart(by_y) || !to.is_apart(x)) return false;
  const Layout parts = dense(to.temporary(DType::F32, to.samples() * 2 * width), {to.samples(), 2, width});
  std::vector<Touched> reads{to.touched(by_y, true), to.touched(x, true)};
  if (w.root != kNone) reads.push_back({w.root, false});
  call(to, Split::Samples, std::move(reads), {to.touched(by_x, true), to.touched(parts, true)},
       fmt::format("[{}] layer_norm_backward", fmt::join(x.sizes, ", ")), [=](Memory memory, const Part& part) {
         const int64_t each = rows.count / part.samples;
         for (int64_t s = part.begin; s < part.end; ++s) {
           float* const sums = floats(memory, parts) + s * 2 * width;
           std::memset(sums, 0, size_t(2 * width) * sizeof(float));
           const int64_t at = s * each * width;
           row_kernel().layer_norm_slope(floats(memory, x) + at, w.root == kNone ? nullptr : floats(memory, w),
                                         floats(memory, by_y) + at, eps, each, width, floats(memory, by_x) + at, sums,
                                         sums + width);
         }
       });
  for (size_t at = 1; at < 3; ++at) {
    if (node.results[at] == kNone) continue;
    const Layout out = to.layout(node.results[at]);
    call(to, Split::Alone, {{parts.root, false}}, {{out.root, false}}, fmt::format("[{}] sums", width),
         [=, samples = to.samples(), offset = (int64_t(at) - 1) * width](Memory memory, const Part&) {
           row_kernel().sum_columns(floats(memory, parts) + offset, 2 * width, samples, width, floats(memory, out));
         });
  }
  return true;
}

// ---- embeddings

bool embedding(Lowering& to) {
  const ValueId index = to.argument(0), weight = to.argument(1);
  if (!to.is_f32({weight}) || to.dtype(index) != DType::I64) return false;
  const Layout rows = to.layout(index), table = to.side_by_side(to.layout(weight), DType::F32),
               out = to.layout(to.result());
  if (!rows.is_dense()) return false;
  const int64_t width = table.sizes[1], count = table.sizes[0];
  const bool by_samples = to.is_apart(rows) && to.is_apart(out);
  const Rows split{rows.count(), width, by_samples};
  call(to, split.split(), {to.touched(rows, by_samples), {table.root, false}}, {to.touched(out, by_samples)},
       fmt::format("[{}] embedding", fmt::join(out.sizes, ", ")), [=](Memory memory, const Part& part) {
         const auto [begin, end] = split.of(part);
         for (int64_t r = begin; r < end; ++r) {
           const int64_t at = longs(memory, rows)[r];
           if (at < 0 || at >= count) return part.fails();
           std::memcpy(floats(memory, out) + r * width, floats(memory, table) + at * width, size_t(width) * 4);
         }
       });
  return true;
}

/// Sums for the rows that were read, where those of a table are many more. Rows that come twice are added in their order.
void sum_rows(Lowering& to, const Layout& by_rows, const Layout& rows, int64_t width) {
  const RowSums sums{rows.count(), width};
  const Layout out = dense(to.result(), {sums.elements()});
  const auto slots = int64_t(std::bit_ceil(uint64_t(2 * rows.count())));
  const int shift = 64 - std::countr_zero(uint64_t(slots));
  to.give_row_sums(sums);
  call(
      to, Split::Alone, {{by_rows.root, false}, {rows.root, false}}, {{out.root, false}},
      fmt::format("[{}, {}] embedding_backward, by rows", rows.count(), width),
      [=](Memory memory, const Part& part) {
        auto* const places = reinterpret_cast<int32_t*>(part.scratch);  // of rows, by a hash; -1: none
        std::fill_n(places, slots, -1);
        int64_t count = 0;
        int64_t* const known = sums.rows(memory[out.root]);
        float* const values = sums.values(memory[out.root]);
        for (int64_t r = 0; r < sums.most; ++r) {
          const int64_t row = longs(memory, rows)[r];
          const float* const from = floats(memory, by_rows) + r * width;
          // Fibonacci hashing (Knuth, TAOCP 3, 6.4).
          auto slot = int64_t(uint64_t(row) * 0x9e3779b97f4a7c15u >> shift);
          while (places[slot] >= 0 && known[places[slot]] != row) slot = (slot + 1) % slots;
          if (places[slot] < 0) {
            places[slot] = int32_t(count);
            known[count] = row;
            std::memcpy(values + count++ * width, from, size_t(width) * sizeof(float));
            continue;
          }
          float* const into = values + places[slot] * width;
          for (int64_t c = 0; c < width; ++c) into[c] += from[c];
        }
        sums.count(memory[out.root]) = count;
      },
      slots * int64_t(sizeof(int32_t)));
  to.explain(fmt::format("at most {} rows of the table are read", rows.count()));
}

/// Each thread has columns of its own, so that rows that come twice are added in their order.
bool embedding_backward(Lowering& to) {
  const ValueId gradient = to.argument(0), index = to.argument(1);
  if (!to.is_f32({gradient}) || to.dtype(index) != DType::I64) return false;
  const Layout by_rows = to.side_by_side(to.layout(gradient), DType::F32), rows = to.layout(index),
               out = to.layout(to.result());
  if (!rows.is_dense()) return false;
  const int64_t width = out.sizes[1];
  if (to.may_be_row_sums() && rows.count() > 0 && rows.count() < out.sizes[0]) {
    sum_rows(to, by_rows, rows, width);
    return true;
  }
  call(to, Split::Shares, {{by_rows.root, false}, {rows.root, false}}, {{out.root, false}},
       fmt::format("[{}] embedding_backward", fmt::join(out.sizes, ", ")),
       [=, count = rows.count()](Memory memory, const Part& part) {
         const auto [begin, end] = part.share(width);
         const auto columns = size_t(end - begin) * sizeof(float);
         float* const sums = floats(memory, out);
         for (int64_t r = 0; r < out.sizes[0]; ++r) std::memset(sums + r * width + begin, 0, columns);
         for (int64_t r = 0; r < count; ++r) {
           float* const into = sums + longs(memory, rows)[r] * width;
           const float* const from = floats(memory, by_rows) + r * width;
           for (int64_t c = begin; c < end; ++c) into[c] += from[c];
         }
       });
  to.explain(to.may_be_row_sums() ? fmt::format("{} rows are read, of a table of {}", rows.count(), out.sizes[0])
                                  : Str("rows that were not read are wanted, too"));
  return true;
}

}  // namespace

bool lower_rows(Lowering& to) {
  switch (to.node().op) {
    case Op::softmax:
    case Op::log_softmax: return softmax(to);
    case Op::layer_norm: return layer_norm(to);
    case Op::layer_norm_backward: return layer_norm_backward(to);
    case Op::embedding: return embedding(to);
    case Op::embedding_backward: return embedding_backward(to);
    default: return false;
  }
}

}  // namespace ltr::plan
