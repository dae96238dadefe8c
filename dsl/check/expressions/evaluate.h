#pragma once

#include <functional>

#include "dsl/check/expressions/expressions.h"

namespace ltr::check {

/// The value of an expression that only its place knows: a param, a member, a local.
using Lookup = std::function<std::optional<HostValue>(const ExprView&)>;

/// As `evaluate`, with what `lookup` knows.
std::optional<HostValue> evaluate(const ExprView& expr, const Program& program, const Lookup& lookup);

}  // namespace ltr::check
