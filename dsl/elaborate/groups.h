#pragma once

#include "dsl/elaborate/machine.h"
#include "runtime/tables/weight_group.h"

namespace ltr::elaborate {

/// The parts of an optimizer whose weights move by one rule with one set of arguments: its groups, then what they
/// leave. Parts without weights are left out. `frame` sees the params of the model.
std::vector<Plan::Optimizer> parts_of(const check::Member& optimizer, const Value& made, Machine& machine, Frame& frame,
                                      const Tree& tree);

}  // namespace ltr::elaborate
