#pragma once

#include <string_view>

#include "dsl/diagnostics/sink.h"
#include "dsl/lex/token.h"

namespace ltr::lex {

/// Text to tokens. Never fails: what cannot be read is reported (E01) and becomes an `Error` token, or the token
/// that was meant. Newlines are tokens only where they end a statement. Brackets are paired here, because
/// whether a newline counts depends on it; unclosed ones are reported by the parser.
TokenBuffer lex(source::SourceId source, std::string_view text, diagnostics::Sink& sink);

}  // namespace ltr::lex
