#pragma once

#include <string_view>

#include "dsl/ast/decl.h"
#include "dsl/diagnostics/sink.h"
#include "dsl/source/embedded.h"

namespace ltr::resolve {

/// From here on the trees of the library's files are kept for the next program: who reads the same one again and again, each time
/// a little changed, needs the same of the library, under the same ids. Asked for by the thread that resolves.
void keep_library_trees();

/// The tree of `text`, which is that of the file or what is needed of it.
ast::Module parse_library(const source::EmbeddedFile& file, source::SourceId id, std::string_view text,
                          diagnostics::Sink& sink);

}  // namespace ltr::resolve
