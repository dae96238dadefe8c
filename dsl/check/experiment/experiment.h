#pragma once

// What an experiment wires together.

#include "dsl/check/scope/context.h"

namespace ltr::check {

/// Those of the program's file, and those that it imports.
void check_experiments(Context& cx);

}  // namespace ltr::check
