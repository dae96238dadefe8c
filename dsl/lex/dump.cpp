#include "dsl/lex/dump.h"

#include "dsl/source/text.h"

namespace ltr::lex {

std::string dump_tokens(const TokenBuffer& buffer, const source::SourceManager& sources) {
  std::string out;
  for (const Token& token : buffer.tokens) {
    out += source::to_text(sources.position(token.span)) + " " + std::string(name_of(token.kind));
    switch (token.kind) {
      case TokenKind::Name:
      case TokenKind::Int:
      case TokenKind::Float:
      case TokenKind::Error: out += " " + std::string(sources.text(token.span)); break;
      case TokenKind::Unit:
      case TokenKind::Str:
      case TokenKind::StrText:
      case TokenKind::InterpFormat: out += " " + source::quote(buffer.strings[token.value]); break;
      default:  // The kind says it all.
        break;
    }
    if (const std::string* doc = token.span.is_empty() ? nullptr : buffer.find_doc(token.span.begin)) {
      out += " doc " + source::quote(*doc);
    }
    out += '\n';
  }
  for (const Comment& comment : buffer.comments) {
    out += source::to_text(sources.position(comment.span)) + (comment.is_doc ? " doc comment" : " comment");
    out += comment.owns_line ? "\n" : " behind code\n";
  }
  return out;
}

}  // namespace ltr::lex
