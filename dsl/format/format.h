#pragma once

#include <string>
#include <string_view>

#include "dsl/ast/decl.h"
#include "dsl/source/source_manager.h"

/// Text to the same text as `ltrc fmt` writes it.
namespace ltr::format {

/// The canonical layout of a module that was parsed from `text` without errors. Line breaks are the
/// author's; indentation, spaces, blank lines and alignment are ours. Comments stay with the line
/// they stood on. `format(format(x))` is `format(x)`, and the result parses to the same tree.
/// Lines end in `\n`; a byte-order mark is dropped.
std::string format(const ast::Module& module, std::string_view text);

/// Whether two modules say the same: equal trees, places aside. Documentation counts.
bool is_same_tree(const ast::Module& left, const ast::Module& right);

}  // namespace ltr::format
