#pragma once

#include "codegen/ir/step.h"

namespace ltr::passes {

/// Computes host ops whose operands are constants, and takes the branch of an `if` whose condition is one.
/// Leaves an op that would fail (division by 0, inexact `/`, overflow) for the run, where it has a location.
void fold_constants(ir::Module& module);

}  // namespace ltr::passes
