#pragma once

// Operands that no operator takes.

#include "dsl/check/expressions/expressions.h"

namespace ltr::check {

/// E0313 of a function that is not called, `exp * 2`, where a value is meant. Whether there is one.
bool report_function_operand(const Expr& left, const Expr& right, Scope& scope);
/// Whether something stands outside of all brackets beside it, so that `.f()` behind it would be of the last part.
bool has_parts(const std::string& code);

}  // namespace ltr::check
