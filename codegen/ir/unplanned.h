#pragma once

// What keeps steps from plans, as far as the program tells.

#include "codegen/ir/step.h"
#include "runtime/tables/unplanned.h"

namespace ltr::ir {

struct UnplannedOp {
  Unplanned what;
  Loc loc;
};

/// The first op that a step of function `fn` may come to, also through what it calls, and that no plan holds; nothing where none is
/// known. What a run alone tells is not: numbers of the host that change, the precision, what a C++ function computes with.
std::optional<UnplannedOp> find_unplanned(const Module& module, const std::string& fn);

}  // namespace ltr::ir
