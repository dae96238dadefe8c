#pragma once

#include <string_view>

#include "dsl/elaborate/machine.h"

namespace ltr::elaborate {

/// Whether a path fits a pattern, in which `*` is any text, dots too, and `?` any letter.
bool matches(std::string_view pattern, std::string_view path);

/// The parts of an optimizer whose weights move by one rule with one set of arguments: its groups, then what they
/// leave. Parts without weights are left out. `frame` sees the params of the model.
std::vector<Plan::Optimizer> parts_of(const check::Member& optimizer, const Value& made, Machine& machine, Frame& frame,
                                      const Tree& tree);

}  // namespace ltr::elaborate
