#pragma once

#include "codegen/ir/step.h"

namespace ltr::passes {

/// Removes every op whose results nobody reads and whose effect is None or a read, and regions that do nothing.
/// Expects calls to be inlined, or their results look used. Keeps the order of the other ops.
void remove_unused_ops(ir::Module& module);

}  // namespace ltr::passes
