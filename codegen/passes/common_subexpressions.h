#pragma once

#include "codegen/ir/step.h"

namespace ltr::passes {

/// Replaces an op by an earlier equal one: same kind, name, operands, attributes and result types.
///   - only effect None; so no random numbers, and no reads, whose value may change in between
///   - not tensors in a constructor, where each weight is a tensor of its own although it starts with the same values
///   - only where the earlier one dominates: in the same region or around it
void common_subexpressions(ir::Module& module);

}  // namespace ltr::passes
