#pragma once

#include <vector>

#include "dsl/diagnostics/diagnostic.h"

namespace ltr::diagnostics {

/// What one wrong line makes wrong at several places is told once, with the others as labels. `told` is sorted.
void join_of_one_cause(std::vector<Diagnostic>& told);

}  // namespace ltr::diagnostics
