#pragma once

#include "dsl/check/scope/context.h"

namespace ltr::check {

/// Whether that was reported of this place: of another experiment with the same declarations, or by another check.
bool is_reported(const Context& cx, diagnostics::Code code, Span span);
/// Takes back what the body of a function says of `names`, which comes of a param that is declared wrongly: that is the one mistake.
/// `of_sizes`: of sizes alone.
void withdraw_uses(const FnInfo& fn, const std::vector<std::string>& names, Context& cx, bool of_sizes = false);

}  // namespace ltr::check
