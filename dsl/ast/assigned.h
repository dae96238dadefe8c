#pragma once

#include <set>
#include <string>

#include "dsl/ast/decl.h"

namespace ltr::ast {

/// The names that `body` gives a value to, as a whole or in part, and that the bodies inside of it do.
std::set<std::string> assigned_names(const Body& body);

/// Of those in `fn`, the ones that get it in a branch, a loop or a `scan`: what happens there changes the variable
/// itself, while an assignment directly in `fn` makes a new one of the same name.
std::set<std::string> assigned_inside(const Fn& fn);

}  // namespace ltr::ast
