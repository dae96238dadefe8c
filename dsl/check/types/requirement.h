#pragma once

#include "dsl/check/typed.h"

namespace ltr::check {

/// A shape fact that the user of a declaration must satisfy.
struct Requirement {
  enum class Kind { Equal, Divisible, AtMost, Less, Holds, Broadcasts, OneForEach, Indexes };
  Kind kind = Kind::Equal;
  Polynomial left;
  Polynomial right;
  std::optional<Expr> rule;  ///< Holds: over the params of the declaration that requires it
  std::string param;         ///< Broadcasts: the tensor that is given for it does so to a tensor of these dims
  std::vector<Polynomial> onto;
  // Indexes: what is given for `param` counts rows of a table that has `left`.
  int64_t axis = 0;  ///< OneForEach: of `param`, which has as many places there as `left`, if that is not 1
  std::string text;  ///< as written, `D % heads == 0`
  Span origin;
  Span taken;              ///< Equal: what took an axis away that is asked for
  std::string taken_size;  ///< and how many it had
  std::string cure;        ///< what makes it hold
  Span use;                ///< of a rule of the library: what the program gives, or calls, that has to keep it
  bool is_where = false;
  bool is_size = false;       ///< AtMost: `right` is a size, which is 0 at least; asked of nobody when a run starts
  bool is_window = false;     ///< of a size: it is what a window leaves of what it slides over; asked then too
  bool is_of_weight = false;  ///< AtMost: `right` is a size of a weight, which is 1 at least
  bool is_rows = false;  ///< AtMost: `left` counts rows of a table of `right`; told only where it is known to be false
  bool bounds_left = false;   ///< `left <= 4`: the rule itself says what is on the right
  bool bounds_right = false;  ///< `1 <= right`
};

}  // namespace ltr::check
