#pragma once

#include "dsl/check/scope/context.h"

namespace ltr::check {

/// Whether that was reported of this place: of another experiment with the same declarations, or by another check.
bool is_reported(const Context& cx, diagnostics::Code code, Span span);

}  // namespace ltr::check
