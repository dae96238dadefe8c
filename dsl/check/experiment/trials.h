#pragma once

// What the trials of a sweep may be given.

#include "dsl/check/scope/context.h"

namespace ltr::check {

/// A value that trials may be given, and what people read of it.
struct Drawn {
  Expr value;
  std::string text;
};

/// Values of an axis that show whether its range keeps a rule: all of a list and of a short range of ints, the ends of longer
/// ones. Of a continuous range both ends a little inside of it, since whether an end itself is ever drawn is no matter; of a
/// normal distribution, which has no ends, two deviations from its mean, of which one trial in twenty is further away.
std::vector<Drawn> drawn_from(const ExprView& axis, const Context& cx);

}  // namespace ltr::check
