#pragma once

#include "codegen/ir/step.h"

namespace ltr::passes {

/// Drops functions that no table, test or other kept function names. Without tables (tests of passes) all methods,
/// steps, hooks and tests are kept, and only free functions may go.
void remove_unused_functions(ir::Module& module);

}  // namespace ltr::passes
