// Scaled dot-product attention: y = d(p) v with p = softmax(q kᵀ scale + mask), d dropout. One head of one record at a time, whose
// scores stay in the nearest caches. Vaswani et al. 2017.

#include <algorithm>
#include <cmath>
#include <cstring>

#include "runtime/kernels/product.h"
#include "runtime/kernels/rows.h"
#include "runtime/plan/cpu/draws.h"
#include "runtime/plan/cpu/lower/function.h"

namespace ltr::plan {

namespace {

using kernels::Matrix;
using kernels::PanelProduct;
using kernels::ProductKernel;
using kernels::row_kernel;

/// What is the same for all heads.
struct Heads {
  const ProductKernel* kernel = nullptr;
  int64_t records = 0;
  int64_t count = 0;  ///< of a record
  int64_t rows = 0, places = 0, width = 0, value_width = 0;
  bool causal = false;
  float scale = 1;
  double keep = 1;
  uint64_t site = 0;

  Layout mask;  ///< over [B, H, S, L]: added, or whether a row sees a place; no root where there is none
  bool is_added = true;

  int64_t padded(int64_t columns) const { return kernel->panels(columns) * kernel->width; }
  /// Places that row `r` sees.
  int64_t seen(int64_t r) const { return causal ? std::min(places, r + 1) : places; }
};

/// Head `head` of record `record` of [B, H, S, K].
Matrix head_of(Memory memory, const Layout& layout, int64_t record, int64_t head) {
  return {reinterpret_cast<const float*>(memory[layout.root]) + layout.offset + record * layout.strides[0] +
              head * layout.strides[1],
          layout.strides[2], layout.strides[3]};
}
Matrix transposed(const Matrix& of) { return {of.at, of.column, of.row}; }

/// All panels of `matrix` [depth, columns].
void pack(const ProductKernel& kernel, const Matrix& matrix, int64_t depth, int64_t columns, float* panels) {
  const int64_t width = kernel.width;
  for (int64_t c = 0; c < columns; c += width, panels += kernel.lines(depth) * width)
    kernel.pack({matrix.at + c * matrix.column, matrix.row, matrix.column}, depth, std::min(width, columns - c),
                panels);
}

/// out[r][c] = scale Σ left(r, k) right(k, c), for rows and depth from `begin(r block)` to `end(r block)`, which leave out what a
/// mask made 0.
template <class Range>
void multiply(const ProductKernel& kernel, const Matrix& left, int64_t rows, int64_t depth, int64_t columns,
              const float* panels, float scale, float* out, int64_t out_row, bool adds, const Range& range) {
  constexpr int64_t kBlock = 12;
  const int64_t width = kernel.width;
  for (int64_t r = 0; r < rows; r += kBlock) {
    const int64_t last = std::min(rows, r + kBlock);
    const auto [first, to] = range(r, last);
    const int64_t from = first / kernel.depth * kernel.depth;  // lines are whole, and what is left out is 0
    for (int64_t c = 0; c < columns; c += width) {
      PanelProduct p;
      p.left = {left.at + r * left.row + from * left.column, left.row, left.column};
      p.rows = last - r;
      p.depth = to - from;
      p.panel = panels + c * kernel.lines(depth) + kernel.lines(from) * width;
      p.columns = std::min(width, columns - c);
      p.out = out + r * out_row + c;
      p.out_row = out_row;
      p.adds = adds;
      p.scale = scale;
      kernel.multiply(p);
    }
  }
}

/// Scores, or their gradients: of the places that rows see, by panels of places.
void score(const Heads& heads, const Matrix& left, int64_t depth, const float* panels, float scale, float* out) {
  const int64_t width = heads.kernel->width;
  for (int64_t c = 0; c < heads.places; c += width) {
    const int64_t first = heads.causal ? std::min(c, heads.rows) : 0;
    if (first == heads.rows) continue;
    PanelProduct p;
    p.left = {left.at + first * left.row, left.row, left.column};
    p.rows = heads.rows - first;
    p.depth = depth;
    p.panel = panels + c * heads.kernel->lines(depth);
    p.columns = std::min(width, heads.places - c);
    p.out = out + first * heads.places + c;
    p.out_row = heads.places;
    p.scale = scale;
    heads.kernel->multiply(p);
  }
}

/// Soft-max of what each row sees; the rest is 0.
void normalize(const Heads& heads, Memory memory, int64_t record, int64_t head, float* scores) {
  const Layout& mask = heads.mask;
  for (int64_t r = 0; r < heads.rows; ++r, scores += heads.places) {
    const int64_t seen = heads.seen(r);
    if (mask.root == kNone) {
      row_kernel().softmax(scores, 1, seen, scores);
    } else {
      const int64_t row = mask.offset + record * mask.strides[0] + head * mask.strides[1] + r * mask.strides[2];
      const char* const of = memory[mask.root];
      row_kernel().masked_softmax(scores, heads.is_added ? reinterpret_cast<const float*>(of) + row : nullptr,
                                  heads.is_added ? nullptr : reinterpret_cast<const bool*>(of) + row, seen, scores);
    }
    std::memset(scores + seen, 0, size_t(heads.places - seen) * sizeof(float));
  }
}

class Attention : public Kernel {
 public:
  Attention(Heads heads, Layout q, Layout k, Layout v, Layout out)
      : heads_(heads), q_(std::move(q)), k_(std::move(k)), v_(std::move(v)), out_(std::move(out)) {}

  void run(Memory memory, const Part& part) const override {
    const Heads& h = heads_;
    const int64_t shared = h.count / k_.sizes[1];
    auto* const scores = reinterpret_cast<float*>(part.scratch);
    float* const panels = scores + h.rows * h.places;
    auto* const words = reinterpret_cast<uint32_t*>(panels + panel_floats());
    const auto [begin, end] = part.of(h.records);
    for (int64_t record = begin; record < end; ++record) {
      for (int64_t head = 0; head < h.count; ++head) {
        pack(*h.kernel, transposed(head_of(memory, k_, record, head / shared)), h.width, h.places, panels);
        score(h, head_of(memory, q_, record, head), h.width, panels, h.scale, scores);
        normalize(h, memory, record, head, scores);
        if (h.keep < 1) {
          const int64_t first = (record * h.count + head) * h.rows * h.places;
          for (int64_t r = 0; r < h.rows; ++r)
            keep_some(scores + r * h.places, part.key, h.site, h.keep, first + r * h.places, h.places, words,
                      scores + r * h.places);
        }
        pack(*h.kernel, head_of(memory, v_, record, head / shared), h.places, h.value_width, panels);
        const Matrix out = head_of(memory, out_, record, head);
        multiply(*h.kernel, {scores, h.places, 1}, h.rows, h.places, h.value_width, panels, 1,
                 const_cast<float*>(out.at), out.row, false,
                 [&](int64_t, int64_t last) { return std::pair<int64_t, int64_t>(0, h.seen(last - 1)); });
      }
    }
  }
  int64_t scratch_bytes() const override {
    return (heads_.rows * heads_.places + panel_floats() + heads_.places + 128) * 4;
  }
  Str text() const override {
    return fmt::format("[{}] attention{}", fmt::join(q_.sizes, ", "), type_of(*heads_.kernel));
  }

 private:
  int64_t panel_floats() const {
    return std::max(heads_.padded(heads_.places) * heads_.width, heads_.padded(heads_.value_width) * heads_.places);
  }
  Heads heads_;
  Layout q_, k_, v_, out_;
};

/// With g the gradient of y: d(p)ᵀ g for v; with h = d(g vᵀ) the scores' is s = p (h - Σ p h), which is the mask's: s k for q, sᵀ q for
/// k. Of heads that share a k and a v each adds its own.
class AttentionBackward : public Kernel {
 public:
  struct Values {
    Layout gradient, q, k, v, by_q, by_k, by_v;
    Layout by_scores;  ///< [B, H, S, L] side by side; no root where no mask asks for it
  };
  AttentionBackward(Heads heads, Values values) : heads_(heads), values_(std::move(values)) {}

  void run(Memory memory, const Part& part) const override {
    const Heads& h = heads_;
    const int64_t size = h.rows * h.places;
    auto* const probs = reinterpret_cast<float*>(part.scratch);
    float* const flow = probs + size;
    float* const kept = h.keep < 1 ? flow + size : probs;
    float* const panels = (h.keep < 1 ? kept : flow) + size;
    auto* const words = reinterpret_cast<uint32_t*>(panels + panel_floats());
    const auto all = [&](int64_t, int64_t last) { return std::pair<int64_t, int64_t>(0, h.seen(last - 1)); };
    // Of the transposed scores, row `l` begins at the first row that sees place l.
    const auto below = [&](int64_t first, int64_t) {
      return std::pair<int64_t, int64_t>(h.causal ? std::min(first, h.rows) : 0, h.rows);
    };
    const auto [begin, end] = part.of(h.records);
    for (int64_t record = begin; record < end; ++record) {
      for (int64_t head = 0; head < h.count; ++head) {
        const int64_t shared = h.count / values_.k.sizes[1];
        const bool adds = head % shared != 0;
        const auto of = [&](const Layout& layout) { return head_of(memory, layout, record, head); };
        const auto shared_of = [&](const Layout& layout) { return head_of(memory, layout, record, head / shared); };
        const Matrix q = of(values_.q), k = shared_of(values_.k), v = shared_of(values_.v), g = of(values_.gradient);
        const int64_t first = (record * h.count + head) * size;
        const auto drop = [&](const float* from, float* to) {
          for (int64_t r = 0; r < h.rows; ++r)
            keep_some(from + r * h.places, part.key, h.site, h.keep, first + r * h.places, h.places, words,
                      to + r * h.places);
        };
        pack(*h.kernel, transposed(k), h.width, h.places, panels);
        score(h, q, h.width, panels, h.scale, probs);
        normalize(h, memory, record, head, probs);
        if (h.keep < 1) drop(probs, kept);
        const Matrix by_v = shared_of(values_.by_v), by_q = of(values_.by_q), by_k = shared_of(values_.by_k);
        pack(*h.kernel, g, h.rows, h.value_width, panels);
        multiply(*h.kernel, {kept, 1, h.places}, h.places, h.rows, h.value_width, panels, 1,
                 const_cast<float*>(by_v.at), by_v.row, adds, below);
        pack(*h.kernel, transposed(v), h.value_width, h.places, panels);
        score(h, g, h.value_width, panels, 1, flow);
        if (h.keep < 1) drop(flow, flow);
        for (int64_t r = 0; r < h.rows; ++r) {
          const int64_t seen = h.seen(r);
          row_kernel().softmax_slope(probs + r * h.places, flow + r * h.places, 1, seen, flow + r * h.places);
          std::memset(flow + r * h.places + seen, 0, size_t(h.places - seen) * sizeof(float));
        }
        if (values_.by_scores.root != kNone)
          std::memcpy(floats(memory, values_.by_scores) + first, flow, size_t(size) * sizeof(float));
        pack(*h.kernel, k, h.places, h.width, panels);
        multiply(*h.kernel, {flow, h.places, 1}, h.rows, h.places, h.width, panels, h.scale,
                 const_cast<float*>(by_q.at), by_q.row, false, all);
        pack(*h.kernel, q, h.rows, h.width, panels);
        multiply(*h.kernel, {flow, 1, h.places}, h.places, h.rows, h.width, panels, h.scale,
                 const_cast<float*>(by_k.at), by_k.row, adds, below);
      }
    }
  }
  int64_t scratch_bytes() const override {
    return ((heads_.keep < 1 ? 3 : 2) * heads_.rows * heads_.places + panel_floats() + heads_.places + 128) * 4;
  }
  Str text() const override {
    return fmt::format("[{}] attention_backward{}", fmt::join(values_.q.sizes, ", "), type_of(*heads_.kernel));
  }

 private:
  int64_t panel_floats() const {
    const int64_t wide = std::max(heads_.width, heads_.value_width);
    return std::max(heads_.padded(heads_.places) * wide, heads_.padded(wide) * std::max(heads_.places, heads_.rows));
  }
  Heads heads_;
  Values values_;
};

/// What stands side by side as [B, S, H, K], so that heads of a place are neighbours, seen as [B, H, S, K].
Layout by_places(ValueId root, const Ints& sizes) {
  Layout layout = dense(root, {sizes[0], sizes[2], sizes[1], sizes[3]});
  std::swap(layout.sizes[1], layout.sizes[2]);
  std::swap(layout.strides[1], layout.strides[2]);
  return layout;
}

/// [B, H, S, K] of records apart, with the elements of a row side by side, copied where it does not lie so.
Layout apart(Lowering& to, const Layout& x) {
  if (to.is_apart(x) && x.strides[3] == 1) return x;
  const Layout copy = dense(to.temporary(DType::F32, x.count()), x.sizes);
  PointProgram program = Lowering::program(x.sizes);
  program.store(copy.root, DType::F32, program.load(x, DType::F32));
  to.add(std::move(program));
  return copy;
}

struct Given {
  Heads heads;
  Layout q, k, v;

  /// For people.
  Str why_so() const {
    return fmt::format("head by head, with its {} x {} scores{}", heads.rows, heads.places,
                       heads.causal ? ", of places that rows see" : "");
  }
  std::vector<Touched> reads(const Lowering& to) const {
    std::vector<Touched> found{to.touched(q, true), to.touched(k, true), to.touched(v, true)};
    if (heads.mask.root != kNone) found.push_back(to.touched(heads.mask, true));
    return found;
  }
};

/// q, k and v from argument `first` on, and what follows them; nothing where there is no kernel for it.
Option<Given> given_of(Lowering& to, size_t first) {
  const Node& node = to.node();
  const ValueId q = node.value(first).id, k = node.value(first + 1).id, v = node.value(first + 2).id,
                mask = node.value(first + 3).id;
  if (!to.is_f32({q, k, v})) return std::nullopt;
  if (mask != kNone && to.dtype(mask) != DType::F32 && to.dtype(mask) != DType::Bool) return std::nullopt;
  for (const ValueId id : {q, k, v}) {
    const Ints& sizes = to.layout(id).sizes;
    if (sizes.size() != 4 || sizes[0] != to.layout(q).sizes[0] || sizes[0] % to.samples() != 0) return std::nullopt;
    if (to.layout(id).count() == 0) return std::nullopt;
  }
  Given given;
  Heads& heads = given.heads;
  heads.kernel = &to.products();
  heads.records = to.layout(q).sizes[0];
  heads.count = to.layout(q).sizes[1];
  heads.rows = to.layout(q).sizes[2];
  heads.places = to.layout(k).sizes[2];
  heads.width = to.layout(q).sizes[3];
  heads.value_width = to.layout(v).sizes[3];
  heads.causal = node.host<bool>(first + 4);
  const auto* scale = std::get_if<double>(&node.arguments[first + 6]);
  heads.scale = float(scale != nullptr ? *scale : 1 / std::sqrt(double(heads.width)));
  const double dropped = node.host<double>(first + 5);
  if (node.is_training && dropped > 0) {
    if (!node.site) return std::nullopt;
    heads.keep = 1 - dropped;
    heads.site = *node.site;
  }
  given.q = apart(to, to.layout(q));
  given.k = apart(to, to.layout(k));
  given.v = apart(to, to.layout(v));
  if (mask == kNone) return given;
  // Rows of a mask are whole, and side by side; the axes in front may stretch.
  Ints sizes = to.layout(mask).sizes;
  if (sizes.empty()) sizes = {1};
  sizes.back() = heads.places;
  Layout rows = expanded(to.layout(mask), sizes);
  if (rows.strides.back() != 1) rows = to.side_by_side(rows, to.dtype(mask));
  heads.mask = expanded(rows, {heads.records, heads.count, heads.rows, heads.places});
  heads.mask.strides.back() = 1;
  heads.is_added = to.dtype(mask) == DType::F32;
  return given;
}

bool attention(Lowering& to) {
  const Option<Given> given = given_of(to, 0);
  if (!given) return false;
  to.lay_out(0, by_places(to.result(), to.layout(to.result()).sizes));
  const Layout out = to.layout(to.result());
  Call call;
  call.split = Split::Samples;
  call.reads = given->reads(to);
  call.writes = {to.touched(out, true)};
  call.why = given->why_so();
  call.kernel = std::make_unique<Attention>(given->heads, given->q, given->k, given->v, out);
  to.add(std::move(call));
  return true;
}

bool attention_backward(Lowering& to) {
  const ValueId gradient = to.argument(0);
  if (!to.is_f32({gradient})) return false;
  const double dropped = to.node().host<double>(6);
  if (to.node().is_training && dropped >= 1) return false;
  const Option<Given> given = given_of(to, 1);
  if (!given) return false;
  const Heads& heads = given->heads;
  AttentionBackward::Values values{
      .gradient = apart(to, to.layout(gradient)), .q = given->q, .k = given->k, .v = given->v};
  const Layout* const taken[] = {&values.q, &values.k, &values.v};
  Layout* const found[] = {&values.by_q, &values.by_k, &values.by_v};
  Call call;
  call.reads = given->reads(to);
  call.reads.push_back(to.touched(values.gradient, true));
  for (size_t i = 0; i < 3; ++i) {
    const ValueId id = to.node().results[i];
    // A gradient that nobody asks for has memory all the same.
    *found[i] = by_places(id != kNone ? id : to.temporary(DType::F32, taken[i]->count()), taken[i]->sizes);
    if (id != kNone) to.lay_out(i, *found[i]);
    call.writes.push_back(to.touched(*found[i], true));
  }
  const ValueId by_mask = to.node().host<bool>(8) ? to.node().results[3] : kNone;
  if (by_mask != kNone) {
    const Ints sizes{heads.records, heads.count, heads.rows, heads.places};
    values.by_scores = dense(to.temporary(DType::F32, dense(kNone, sizes).count()), sizes);
    call.writes.push_back(to.touched(values.by_scores, true));
  }
  const Layout by_scores = values.by_scores;
  call.split = Split::Samples;
  call.why = given->why_so();
  call.kernel = std::make_unique<AttentionBackward>(heads, std::move(values));
  to.add(std::move(call));
  return by_mask == kNone || sum_stretched(to, by_scores, to.layout(by_mask));
}

}  // namespace

bool lower_attention(Lowering& to) {
  switch (to.node().op) {
    case Op::attention: return attention(to);
    case Op::attention_backward: return attention_backward(to);
    default: return false;
  }
}

}  // namespace ltr::plan
