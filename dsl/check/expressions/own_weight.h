#pragma once

#include "dsl/check/expressions/expressions.h"

namespace ltr::check {

/// Whether it is a `weight` of the declaration that the code belongs to.
bool is_own_weight(const ExprView& value, const Scope& scope);

}  // namespace ltr::check
