#pragma once

#include <string>

#include "dsl/ast/decl.h"
#include "dsl/source/source_manager.h"

namespace ltr::ast {

/// The tree as text, one node a line, two spaces a level: `Kind details line:col-line:col`. Stable: it depends on
/// nothing but the source. Without `sources` the places are left out: two texts of one tree give the same then.
std::string dump_ast(const Module& module, const source::SourceManager* sources = nullptr);
std::string dump_ast(const Expr& expr, const source::SourceManager& sources);

/// `+`, `and`, `..`.
std::string_view spelling(BinaryOp op);

}  // namespace ltr::ast
