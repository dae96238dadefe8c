#pragma once

#include <cstdint>
#include <unordered_set>

#include "dsl/ast/decl.h"

namespace ltr::format {

/// What the same token means in different places, by the offset where it begins. Only the tree
/// knows.
struct Roles {
  std::unordered_set<uint32_t> unary;        ///< `-` of one operand
  std::unordered_set<uint32_t> grouping;     ///< `(` and `[` that begin an expression or type
  std::unordered_set<uint32_t> record_type;  ///< `{` of a record type, written without inner spaces
  std::unordered_set<uint32_t> block_type;   ///< the word `block` of a parameter's type
  std::unordered_set<uint32_t> continued;    ///< what follows a comma and still belongs to its entry
};

Roles find_roles(const ast::Module& module);

}  // namespace ltr::format
