// Scaled dot-product attention: y = d(p) v with p = softmax(q kᵀ scale), d dropout. One head of one sample at a time, whose
// scores stay in the nearest caches. Vaswani et al. 2017.

#include <algorithm>
#include <cmath>
#include <cstring>

#include "runtime/kernels/product.h"
#include "runtime/kernels/rows.h"
#include "runtime/plan/cpu/draws.h"
#include "runtime/plan/cpu/lowering.h"

namespace ltr::plan {

namespace {

using kernels::Matrix;
using kernels::PanelProduct;
using kernels::product_kernel;
using kernels::row_kernel;

int64_t padded(int64_t columns) {
  const int64_t width = product_kernel().width;
  return (columns + width - 1) / width * width;
}

/// What is the same for all heads.
struct Heads {
  int64_t count = 0;  ///< of a sample
  int64_t rows = 0, places = 0, width = 0, value_width = 0;
  bool causal = false;
  float scale = 1;
  double keep = 1;
  uint64_t site = 0;

  /// Places that row `r` sees.
  int64_t seen(int64_t r) const { return causal ? std::min(places, r + 1) : places; }
};

/// Head `head` of sample `sample` of [B, H, S, K].
Matrix head_of(Memory memory, const Layout& layout, int64_t sample, int64_t head) {
  return {reinterpret_cast<const float*>(memory[layout.root]) + layout.offset + sample * layout.strides[0] +
              head * layout.strides[1],
          layout.strides[2], layout.strides[3]};
}
Matrix transposed(const Matrix& of) { return {of.at, of.column, of.row}; }

/// All panels of `matrix` [depth, columns].
void pack(const Matrix& matrix, int64_t depth, int64_t columns, float* panels) {
  const int64_t width = product_kernel().width;
  for (int64_t c = 0; c < columns; c += width, panels += depth * width)
    product_kernel().pack({matrix.at + c * matrix.column, matrix.row, matrix.column}, depth,
                          std::min(width, columns - c), panels);
}

/// out[r][c] = scale Σ left(r, k) right(k, c), for rows and depth from `begin(r block)` to `end(r block)`, which leave out what a
/// mask made 0.
template <class Range>
void multiply(const Matrix& left, int64_t rows, int64_t depth, int64_t columns, const float* panels, float scale,
              float* out, int64_t out_row, const Range& range) {
  constexpr int64_t kBlock = 12;
  const int64_t width = product_kernel().width;
  for (int64_t r = 0; r < rows; r += kBlock) {
    const int64_t last = std::min(rows, r + kBlock);
    const auto [from, to] = range(r, last);
    for (int64_t c = 0; c < columns; c += width) {
      PanelProduct p;
      p.left = {left.at + r * left.row + from * left.column, left.row, left.column};
      p.left_step = left.row;
      p.rows = last - r;
      p.depth = to - from;
      p.panel = panels + c * depth + from * width;
      p.columns = std::min(width, columns - c);
      p.out = out + r * out_row + c;
      p.out_row = out_row;
      p.scale = scale;
      product_kernel().multiply(p);
    }
  }
}

/// Scores, or their gradients: of the places that rows see, by panels of places.
void score(const Heads& heads, const Matrix& left, int64_t depth, const float* panels, float scale, float* out) {
  const int64_t width = product_kernel().width;
  for (int64_t c = 0; c < heads.places; c += width) {
    const int64_t first = heads.causal ? std::min(c, heads.rows) : 0;
    if (first == heads.rows) continue;
    PanelProduct p;
    p.left = {left.at + first * left.row, left.row, left.column};
    p.left_step = left.row;
    p.rows = heads.rows - first;
    p.depth = depth;
    p.panel = panels + c * depth;
    p.columns = std::min(width, heads.places - c);
    p.out = out + first * heads.places + c;
    p.out_row = heads.places;
    p.scale = scale;
    product_kernel().multiply(p);
  }
}

/// Soft-max of what each row sees; the rest is 0.
void normalize(const Heads& heads, float* scores) {
  for (int64_t r = 0; r < heads.rows; ++r, scores += heads.places) {
    const int64_t seen = heads.seen(r);
    row_kernel().softmax(scores, 1, seen, scores);
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
    for (int64_t sample = part.begin; sample < part.end; ++sample) {
      for (int64_t head = 0; head < h.count; ++head) {
        pack(transposed(head_of(memory, k_, sample, head / shared)), h.width, h.places, panels);
        score(h, head_of(memory, q_, sample, head), h.width, panels, h.scale, scores);
        normalize(h, scores);
        if (h.keep < 1) {
          const int64_t first = (sample * h.count + head) * h.rows * h.places;
          for (int64_t r = 0; r < h.rows; ++r)
            keep_some(scores + r * h.places, part.key, h.site, h.keep, first + r * h.places, h.places, words,
                      scores + r * h.places);
        }
        pack(head_of(memory, v_, sample, head / shared), h.places, h.value_width, panels);
        const Matrix out = head_of(memory, out_, sample, head);
        multiply({scores, h.places, 1}, h.rows, h.places, h.value_width, panels, 1, const_cast<float*>(out.at), out.row,
                 [&](int64_t, int64_t last) { return std::pair<int64_t, int64_t>(0, h.seen(last - 1)); });
      }
    }
  }
  int64_t scratch_bytes() const override {
    return (heads_.rows * heads_.places + panel_floats() + heads_.places + 128) * 4;
  }
  Str text() const override { return fmt::format("[{}] attention", fmt::join(q_.sizes, ", ")); }

 private:
  int64_t panel_floats() const {
    return std::max(padded(heads_.places) * heads_.width, padded(heads_.value_width) * heads_.places);
  }
  Heads heads_;
  Layout q_, k_, v_, out_;
};

/// With g the gradient of y: d(p)ᵀ g for v; with h = d(g vᵀ) the scores' is s = p (h - Σ p h): s k for q, sᵀ q for k.
class AttentionBackward : public Kernel {
 public:
  struct Values {
    Layout gradient, q, k, v, by_q, by_k, by_v;
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
    for (int64_t sample = part.begin; sample < part.end; ++sample) {
      for (int64_t head = 0; head < h.count; ++head) {
        const auto of = [&](const Layout& layout) { return head_of(memory, layout, sample, head); };
        const Matrix q = of(values_.q), k = of(values_.k), v = of(values_.v), g = of(values_.gradient);
        const int64_t first = (sample * h.count + head) * size;
        const auto drop = [&](const float* from, float* to) {
          for (int64_t r = 0; r < h.rows; ++r)
            keep_some(from + r * h.places, part.key, h.site, h.keep, first + r * h.places, h.places, words,
                      to + r * h.places);
        };
        pack(transposed(k), h.width, h.places, panels);
        score(h, q, h.width, panels, h.scale, probs);
        normalize(h, probs);
        if (h.keep < 1) drop(probs, kept);
        const Matrix by_v = of(values_.by_v), by_q = of(values_.by_q), by_k = of(values_.by_k);
        pack(g, h.rows, h.value_width, panels);
        multiply({kept, 1, h.places}, h.places, h.rows, h.value_width, panels, 1, const_cast<float*>(by_v.at), by_v.row,
                 below);
        pack(transposed(v), h.value_width, h.places, panels);
        score(h, g, h.value_width, panels, 1, flow);
        if (h.keep < 1) drop(flow, flow);
        for (int64_t r = 0; r < h.rows; ++r) {
          const int64_t seen = h.seen(r);
          row_kernel().softmax_slope(probs + r * h.places, flow + r * h.places, 1, seen, flow + r * h.places);
          std::memset(flow + r * h.places + seen, 0, size_t(h.places - seen) * sizeof(float));
        }
        pack(k, h.places, h.width, panels);
        multiply({flow, h.places, 1}, h.rows, h.places, h.width, panels, h.scale, const_cast<float*>(by_q.at), by_q.row,
                 all);
        pack(q, h.rows, h.width, panels);
        multiply({flow, 1, h.places}, h.places, h.rows, h.width, panels, h.scale, const_cast<float*>(by_k.at), by_k.row,
                 below);
      }
    }
  }
  int64_t scratch_bytes() const override {
    return ((heads_.keep < 1 ? 3 : 2) * heads_.rows * heads_.places + panel_floats() + heads_.places + 128) * 4;
  }
  Str text() const override { return fmt::format("[{}] attention_backward", fmt::join(values_.q.sizes, ", ")); }

 private:
  int64_t panel_floats() const {
    const int64_t wide = std::max(heads_.width, heads_.value_width);
    return std::max(padded(heads_.places) * wide, padded(wide) * std::max(heads_.places, heads_.rows));
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

/// q, k and v from argument `first` on, and what follows them; nothing where there is no kernel for it.
Option<Heads> heads_of(const Lowering& to, size_t first) {
  const Node& node = to.node();
  const ValueId q = node.value(first).id, k = node.value(first + 1).id, v = node.value(first + 2).id;
  if (!to.is_f32({q, k, v}) || node.value(first + 3).id != kNone) return std::nullopt;
  for (const ValueId id : {q, k, v}) {
    if (to.layout(id).sizes.size() != 4 || !to.is_apart(to.layout(id))) return std::nullopt;
    if (to.layout(id).sizes[0] != to.samples() || to.layout(id).strides[3] != 1) return std::nullopt;
  }
  Heads heads;
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
  return heads;
}

bool attention(Lowering& to) {
  const Option<Heads> heads = heads_of(to, 0);
  if (!heads) return false;
  const Layout q = to.layout(to.argument(0)), k = to.layout(to.argument(1)), v = to.layout(to.argument(2));
  to.lay_out(0, by_places(to.result(), to.layout(to.result()).sizes));
  const Layout out = to.layout(to.result());
  Call call;
  call.split = Split::Samples;
  call.reads = {to.touched(q, true), to.touched(k, true), to.touched(v, true)};
  call.writes = {to.touched(out, true)};
  call.kernel = std::make_unique<Attention>(*heads, q, k, v, out);
  to.add(std::move(call));
  return true;
}

bool attention_backward(Lowering& to) {
  const Option<Heads> heads = heads_of(to, 1);
  if (!heads || heads->keep <= 0) return false;
  AttentionBackward::Values values{.gradient = to.layout(to.argument(0)),
                                   .q = to.layout(to.argument(1)),
                                   .k = to.layout(to.argument(2)),
                                   .v = to.layout(to.argument(3))};
  const bool has_groups = values.k.sizes[1] != heads->count;
  if (has_groups || !to.is_f32({to.argument(0)})) return false;
  if (!to.is_apart(values.gradient) || values.gradient.strides[3] != 1) {
    values.gradient = to.side_by_side(values.gradient, DType::F32);
    if (!to.is_apart(values.gradient)) return false;
  }
  const Layout* const given[] = {&values.q, &values.k, &values.v};
  Layout* const found[] = {&values.by_q, &values.by_k, &values.by_v};
  Call call;
  for (size_t i = 0; i < 3; ++i) {
    const ValueId id = to.node().results[i];
    // A gradient that nobody asks for has memory all the same.
    *found[i] = by_places(id != kNone ? id : to.temporary(DType::F32, given[i]->count()), given[i]->sizes);
    if (id != kNone) to.lay_out(i, *found[i]);
    call.reads.push_back(to.touched(*given[i], true));
    call.writes.push_back(to.touched(*found[i], true));
  }
  call.reads.push_back(to.touched(values.gradient, true));
  call.split = Split::Samples;
  call.kernel = std::make_unique<AttentionBackward>(*heads, std::move(values));
  to.add(std::move(call));
  return true;
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
