#pragma once

// Indices and slices, of tensors and of lists.

#include "dsl/check/expressions/expressions.h"

namespace ltr::check {

/// The ends of a range in brackets.
struct Bounds {
  Expr first;  ///< as written; none where it is absent
  Expr end;
  std::optional<Polynomial> from;  ///< from the front; nothing if it is no dim
  std::optional<Polynomial> to;
  bool are_known = false;  ///< both, without a `?`
  bool has_error = false;  ///< which was reported
};

/// The ends of `item` in something of `size`; E0325 where one lies outside. `of` is what it is, in words, in front of the size.
Bounds read_bounds(const ast::IndexItem& item, const Polynomial& size, const char* of, Scope& scope);
/// E0325 for an index or bound that lies outside of a size that is known.
bool lies_within(const std::optional<Polynomial>& index, const Polynomial& size, bool is_bound, const char* of,
                 Span span, Scope& scope);
/// Requires 0 <= from <= to <= size of bounds that are known.
void require_within(const Bounds& bounds, const Polynomial& size, Span span, Scope& scope);
/// `list[i]`, `tuple[i]`, `list[a .. b]`.
Expr index_list(Expr base, const ast::Index& index, Span span, Scope& scope);

}  // namespace ltr::check
