#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "dsl/ast/decl.h"

namespace ltr::ast {

/// A variable that a statement gives a value to, itself and not in a body of it.
struct Assignment {
  const Name* name = nullptr;
  const Expr* value = nullptr;
  bool is_whole = true;                      ///< not `x += value`, `x.a = value`, `x[i] = value`
  std::optional<size_t> part;                ///< which of `a, b = value`
  const std::vector<Name>* names = nullptr;  ///< all of these then
};
std::vector<Assignment> assignments_of(const Stmt& stmt);

/// The names that `body` gives a value to, as a whole or in part, and that the bodies inside of it do.
std::set<std::string> assigned_names(const Body& body);

/// Of those in `fn`, the ones that get it in a branch, a loop or a `scan`: what happens there changes the variable
/// itself, while an assignment directly in `fn` makes a new one of the same name.
std::set<std::string> assigned_inside(const Fn& fn);

}  // namespace ltr::ast
