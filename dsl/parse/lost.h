#pragma once

#include "dsl/parse/state.h"

namespace ltr::parse {

/// The names in front of the `=` of a statement, `a`, `b` and `c` of `a, (b, c) = …`; none where it assigns nothing.
std::vector<ast::Name> find_unpacked(const State& state, Iter first, Iter last);

/// Whether a `=` is missing behind a name: `head Linear(4, 3)`. A type may stand in front of one, `Linear head = …`.
bool lacks_sign(const State& state, Iter name);

}  // namespace ltr::parse
