#pragma once

// Where the elements of a value lie: most values have memory of their own, views show that of another one.

#include <deque>

#include "runtime/plan/graph.h"

namespace ltr::plan {

/// Element (i, j, …) is element offset + i · strides[0] + j · strides[1] … of the memory of `root`.
struct Layout {
  ValueId root = kNone;
  int64_t offset = 0;
  Ints sizes;
  Ints strides;

  int64_t count() const;
  /// Whether elements lie side by side in the order of their indices.
  bool is_dense() const;
  bool operator==(const Layout&) const = default;
};

Layout dense(ValueId root, const Ints& sizes);
/// The same elements with other sizes; nothing where no strides say that.
Option<Layout> reshaped(const Layout& of, const Ints& sizes);
/// The axis that `axis` means, which counts from the end where it is negative.
size_t axis_of(int64_t axis, const Layout& of);
/// With the last two axes in turn.
Layout transposed(Layout of);
/// The diagonal of the axes `a` and `b`, as last axis.
Layout diagonal_of(Layout of, int64_t offset, int64_t a, int64_t b);
/// Broadcast to `sizes`: what stretches has stride 0.
Layout expanded(const Layout& of, const Ints& sizes);

/// The layouts of what `node` gives, if it only shows what it takes in another form; nothing if it computes, or where it has to copy.
Option<std::vector<Layout>> views_of(const Node& node, const Graph& graph, const std::deque<Layout>& layouts);

}  // namespace ltr::plan
