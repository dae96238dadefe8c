#pragma once

// What an index is in the first and the last round of the loops around it.

#include "dsl/check/expressions/expressions.h"

namespace ltr::check {

/// The variable of a loop over `range`, which may be none for a mistake in it. Where a number of rounds is known that hangs on no
/// other loop, they go to those of the scope.
AtomId enter_rounds(const ast::Name& variable, const ExprView& range, Scope& scope);

/// An index where it is the least, or the largest.
struct Extreme {
  Polynomial index;
  std::string when;  ///< "`i` is 3", in that round; empty outside of loops
};

/// Whether it was said already of a loop on which `index` hangs that it goes too far; from now on it was.
bool is_told(const Polynomial& index, Scope& scope);

/// Nothing where it is no sum of multiples of the variables of loops and of what no loop changes.
std::optional<Extreme> extreme_of(Polynomial index, bool is_largest, const Scope& scope);

}  // namespace ltr::check
