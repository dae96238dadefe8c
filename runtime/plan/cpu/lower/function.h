#pragma once

// Calls that are one function of a part, for the rooms below.

#include "runtime/plan/cpu/lowering.h"

namespace ltr::plan {

/// Null where there is none.
inline float* floats_or_null(Memory memory, const Layout& layout) {
  return layout.root == kNone ? nullptr : floats(memory, layout);
}
inline int64_t* longs(Memory memory, const Layout& layout) {
  return reinterpret_cast<int64_t*>(memory[layout.root]) + layout.offset;
}

/// A kernel that is one function of its part.
template <class Body>
class Function : public Kernel {
 public:
  Function(Str text, Body body, int64_t scratch, bool goes_in_pieces)
      : text_(std::move(text)), body_(std::move(body)), scratch_(scratch), goes_in_pieces_(goes_in_pieces) {}
  void run(Memory memory, const Part& part) const override { body_(memory, part); }
  int64_t scratch_bytes() const override { return scratch_; }
  bool goes_in_pieces() const override { return goes_in_pieces_; }
  Str text() const override { return text_; }

 private:
  Str text_;
  Body body_;
  int64_t scratch_;
  bool goes_in_pieces_;
};

template <class Body>
void call(Lowering& to, Split split, std::vector<Touched> reads, std::vector<Touched> writes, Str text, Body body,
          int64_t scratch = 0, bool goes_in_pieces = true) {
  Call one;
  one.split = split;
  one.reads = std::move(reads);
  one.writes = std::move(writes);
  std::erase_if(one.reads, [](const Touched& read) { return read.root == kNone; });
  one.kernel = std::make_unique<Function<Body>>(std::move(text), std::move(body), scratch, goes_in_pieces);
  to.add(std::move(one));
}

/// For people: the node that is lowered, and what it is of.
inline Str named(const Lowering& to, const Layout& x) {
  return fmt::format("[{}] {}", fmt::join(x.sizes, ", "), name_of(to.node().op));
}

/// Rows of `width` elements, side by side: of each thread the samples where these lie apart, else a share.
struct Rows {
  int64_t count, width;
  bool by_samples;
  std::pair<int64_t, int64_t> of(const Part& part) const { return by_samples ? part.of(count) : part.share(count); }
  Split split() const { return by_samples ? Split::Samples : Split::Shares; }
};
/// A vector is one row, though its elements may be as many as the samples.
inline Rows rows_of(const Lowering& to, const Layout& x) {
  const int64_t width = x.sizes.empty() ? 1 : x.sizes.back();
  return {width == 0 ? 0 : x.count() / width, width, x.sizes.size() > 1 && to.is_apart(x)};
}

/// An argument side by side; no root where there is none.
inline Layout given_or_none(Lowering& to, ValueId id) {
  return id == kNone ? Layout() : to.side_by_side(to.layout(id), DType::F32);
}

/// An axis of something side by side, how much lies in front of it, and behind it.
struct Middle {
  int64_t outer = 1, width = 1, inner = 1;
  int64_t results() const { return outer * inner; }
};
inline Middle middle_of(const Layout& x, int64_t dim) {
  const size_t axis = axis_of(dim, x);
  Middle of;
  for (size_t i = 0; i < x.sizes.size(); ++i) (i < axis ? of.outer : i == axis ? of.width : of.inner) *= x.sizes[i];
  return of;
}

/// out[] = Σ x · scale: each sample by itself, then these in their order, so that it does not hang on threads.
void sum_all(Lowering& to, const Layout& x, double scale, const Layout& out);
/// out = Σ x · scale along an axis of what lies side by side.
void sum_along(Lowering& to, const Layout& x, int64_t dim, double scale, const Layout& out);
/// out = softmax(x) along an axis, or its logarithm.
void softmax_along(Lowering& to, const Layout& x, int64_t dim, bool is_log, const Layout& out);
/// out = Σ over the axes along which it was broadcast to `x`; false, with nothing added, if it was not.
bool sum_stretched(Lowering& to, const Layout& x, const Layout& out);

}  // namespace ltr::plan
