#pragma once

#include <optional>

#include "dsl/parse/state.h"

namespace ltr::parse {

/// The names in front of the `=` of a statement, `a`, `b` and `c` of `a, (b, c) = …`; none where it assigns nothing.
std::vector<ast::Name> find_unpacked(const State& state, Iter first, Iter last);

/// Whether a `=` is missing behind a name: `head Linear(4, 3)`. A type may stand in front of one, `Linear head = …`.
bool lacks_sign(const State& state, Iter name);

/// What stands behind the brackets that open at `at`, `->` of `[B](x: float[B]) -> …`; `at` itself where none do, and nothing if one
/// is not closed.
std::optional<Iter> find_behind_brackets(const State& state, Iter at);

}  // namespace ltr::parse
