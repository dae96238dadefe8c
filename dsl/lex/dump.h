#pragma once

#include <string>

#include "dsl/lex/token.h"
#include "dsl/source/source_manager.h"

namespace ltr::lex {

/// One token a line: place, kind, text. Comments follow.
std::string dump_tokens(const TokenBuffer& buffer, const source::SourceManager& sources);

}  // namespace ltr::lex
