#pragma once

#include "dsl/ast/expr.h"
#include "dsl/check/scope/scope.h"

namespace ltr::check {

/// W0315: what a division leaves, on either side, against a number that it never reaches.
void look_at_remainders(ast::BinaryOp op, const ExprView& left, const ExprView& right, Span span, const Scope& scope);

}  // namespace ltr::check
