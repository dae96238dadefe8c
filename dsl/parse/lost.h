#pragma once

#include "dsl/parse/state.h"

namespace ltr::parse {

/// The names in front of the `=` of a statement, `a`, `b` and `c` of `a, (b, c) = …`; none where it assigns nothing.
std::vector<ast::Name> find_unpacked(const State& state, Iter first, Iter last);

}  // namespace ltr::parse
