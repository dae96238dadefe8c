#pragma once

#include "codegen/ir/step.h"

namespace ltr::passes {

/// Puts the body of a function in place of its call, and joins member paths: `read_param @weight` of
/// `member @fc1` is `read_param @fc1.weight`.
///   - free functions and methods of at most 24 ops, callees first
///   - that return once, at their end, and are not computed again in the backward pass
/// Ops of the library take the place of the call, so that errors and profiles show the user's line.
/// Keeps the order of effects. Leaves the callee; `remove_unused_functions` drops it.
void inline_calls(ir::Module& module);

}  // namespace ltr::passes
