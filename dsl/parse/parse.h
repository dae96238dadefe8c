#pragma once

#include "dsl/ast/decl.h"
#include "dsl/diagnostics/sink.h"
#include "dsl/source/source_manager.h"

namespace ltr::parse {

/// The editions that this compiler knows.
inline constexpr int64_t kEdition = 1;

/// A source to its syntax tree. Lexical and syntax errors (E00 to E02) go to `sink`; what could not be read is an
/// `Error…` node.
ast::Module parse(source::SourceId source, const source::SourceManager& sources, diagnostics::Sink& sink);
/// The same of `text`, which is that of the source with parts of it blank.
ast::Module parse(source::SourceId source, std::string_view text, diagnostics::Sink& sink);

/// The words that begin declarations in a place, "a model".
std::vector<std::string_view> words_at_home(std::string_view place);

}  // namespace ltr::parse
