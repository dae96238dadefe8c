#pragma once

#include <string>

#include "ltrc/language_server/snapshot.h"

namespace ltr::language_server {

/// Whether a right program stays right when what `entity` declares is called `name`: nothing else is called so, neither in its
/// files, nor in the library, nor in the language, and each place of the old name is known. False where that is not certain.
/// Of names that stand in strings, or that C++ may mention, it never is.
bool is_fresh(const Snapshot& snapshot, const Entity& entity, const std::string& name);

/// Whether strings may name what `entity` declares, as a path of weights: to rename it wants a complete snapshot.
bool is_named_in_strings(const Snapshot& snapshot, const Entity& entity);

}  // namespace ltr::language_server
