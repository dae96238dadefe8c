#include "dsl/lex/dump.h"

namespace ltr::lex {

namespace {

std::string quote(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '\n') {
      out += "\\n";
    } else if (c == '\t') {
      out += "\\t";
    } else {
      if (c == '"' || c == '\\') out += '\\';
      out += c;
    }
  }
  return out + '"';
}

std::string place(Span span, const source::SourceManager& sources) {
  const source::Range range = sources.position(span);
  const auto text = [](source::Position position) {
    return std::to_string(position.line) + ":" + std::to_string(position.column);
  };
  return text(range.begin) + "-" + text(range.end);
}

}  // namespace

std::string dump_tokens(const TokenBuffer& buffer, const source::SourceManager& sources) {
  std::string out;
  for (const Token& token : buffer.tokens) {
    out += place(token.span, sources) + " " + std::string(name_of(token.kind));
    switch (token.kind) {
      case TokenKind::Name:
      case TokenKind::Int:
      case TokenKind::Float:
      case TokenKind::Error:
        out += " " + std::string(sources.text(token.span));
        break;
      case TokenKind::Unit:
      case TokenKind::Str:
      case TokenKind::StrText:
      case TokenKind::InterpFormat:
        out += " " + quote(buffer.strings[token.value]);
        break;
      default:  // The kind says it all.
        break;
    }
    if (const std::string* doc = token.span.is_empty() ? nullptr : buffer.find_doc(token.span.begin)) {
      out += " doc " + quote(*doc);
    }
    out += '\n';
  }
  for (const Comment& comment : buffer.comments) {
    out += place(comment.span, sources) + (comment.is_doc ? " doc comment" : " comment");
    out += comment.owns_line ? "\n" : " behind code\n";
  }
  return out;
}

}  // namespace ltr::lex
