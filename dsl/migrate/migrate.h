#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "dsl/ast/decl.h"
#include "dsl/diagnostics/sink.h"

/// From one edition of the language to a later one.
namespace ltr::migrate {

/// The editions that a program can be migrated to; `with_test` adds the one that only tests know.
std::vector<int64_t> known_editions(bool with_test);

/// Reports every form of `module` that goes between its edition and `target` as E0901, with its
/// rewrite as a fix. Where the program uses the name for something of its own, the place is
/// reported without a fix. The `ltr` line is not among them.
void find_deprecated(const ast::Module& module, int64_t target, diagnostics::Sink& sink);

}  // namespace ltr::migrate
