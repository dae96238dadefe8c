#include "ltrc/language_server/cursor.h"

#include <algorithm>

#include "dsl/lex/lex.h"

namespace ltr::language_server {

namespace {

using K = lex::TokenKind;

struct Reader {
  std::string_view text;
  std::vector<lex::Token> tokens;  ///< those before the word

  std::string word(size_t i) const {
    const source::Span span = tokens[i].span;
    return std::string(text.substr(span.begin, span.end - span.begin));
  }
  bool is(size_t i, K kind) const { return i < tokens.size() && tokens[i].kind == kind; }

  /// Where the entry begins that the token `i` belongs to, inside the bracket opened at `opener`.
  size_t entry_begin(size_t end, size_t begin) const {
    size_t at = begin;
    int depth = 0;
    for (size_t i = begin; i < end; ++i) {
      const K kind = tokens[i].kind;
      if (kind == K::OpenParen || kind == K::OpenBracket || kind == K::OpenBrace) ++depth;
      if (kind == K::CloseParen || kind == K::CloseBracket || kind == K::CloseBrace) --depth;
      const bool ends =
          kind == K::Newline || kind == K::Semicolon || kind == K::Comma || (kind == K::CloseBrace && depth == 0);
      if (ends && depth == 0) at = i + 1;
    }
    return at;
  }
};

/// The word that says what a `{` holds: `trainer`, or `topology` of `topology box8 {`.
std::string head_word(const Reader& reader, size_t brace) {
  size_t first = brace;
  int depth = 0;
  while (first > 0) {
    const lex::Token& token = reader.tokens[first - 1];
    if (token.kind == K::CloseParen || token.kind == K::CloseBracket) ++depth;
    if (token.kind == K::OpenParen || token.kind == K::OpenBracket) --depth;
    const bool ends = token.kind == K::Newline || token.kind == K::Semicolon || token.kind == K::OpenBrace ||
                      token.kind == K::CloseBrace || token.kind == K::Comma;
    if (ends && depth <= 0) break;
    --first;
  }
  return first < brace ? reader.word(first) : "";
}

Cursor::Call call_at(const Reader& reader, size_t opener) {
  Cursor::Call call;
  call.callee = reader.word(opener - 1);
  call.callee_begin = reader.tokens[opener - 1].span.begin;
  call.takes_receiver = opener >= 2 && (reader.is(opener - 2, K::Dot) || reader.is(opener - 2, K::Pipe));
  int depth = 0;
  size_t argument = opener + 1;
  for (size_t i = opener + 1; i < reader.tokens.size(); ++i) {
    const K kind = reader.tokens[i].kind;
    if (kind == K::OpenParen || kind == K::OpenBracket || kind == K::OpenBrace) ++depth;
    if (kind == K::CloseParen || kind == K::CloseBracket || kind == K::CloseBrace) --depth;
    if (depth > 0 || kind != K::Comma) continue;
    if (reader.is(argument + 1, K::Assign)) call.given.push_back(reader.word(argument));
    ++call.position;
    argument = i + 1;
  }
  if (reader.is(argument + 1, K::Assign)) {
    call.argument = reader.word(argument);
    call.is_value = true;
  }
  return call;
}

}  // namespace

Cursor cursor_at(std::string_view text, uint32_t offset) {
  Cursor cursor;
  offset = std::min<uint32_t>(offset, uint32_t(text.size()));
  diagnostics::Sink sink;
  // Only what stands before the place; the brackets behind it may be missing or of something else.
  const std::string_view before = text.substr(0, offset);
  lex::TokenBuffer buffer = lex::lex(source::SourceId{1}, before, sink);
  for (const lex::Comment& comment : buffer.comments)
    cursor.in_comment = cursor.in_comment || comment.span.end == offset;
  cursor.in_text = cursor.in_comment;
  Reader reader{text, {}};
  for (const lex::Token& token : buffer.tokens) {
    // Newlines that count are told by brackets, which are half open here: lines tell as well.
    if (token.starts_line && !reader.tokens.empty() && reader.tokens.back().kind != K::Newline) {
      lex::Token line = token;
      line.kind = K::Newline;
      reader.tokens.push_back(line);
    }
    if (token.kind != K::End && token.kind != K::Newline) reader.tokens.push_back(token);
  }
  for (const diagnostics::Diagnostic& diagnostic : sink.reported())
    cursor.in_text = cursor.in_text || diagnostics::to_text(diagnostic.code) == "E0102";
  std::vector<lex::Token>& tokens = reader.tokens;
  cursor.word_begin = offset;
  if (!tokens.empty() && lex::is_word(tokens.back().kind) && tokens.back().span.end == offset) {
    cursor.word = reader.word(tokens.size() - 1);
    cursor.word_begin = tokens.back().span.begin;
    tokens.pop_back();
  }
  size_t at = tokens.size();
  if (at > 0 && tokens[at - 1].kind == K::Dot) {
    cursor.after_dot = true;
    cursor.dot = tokens[at - 1].span.begin;
    while (at >= 2 && tokens[at - 1].kind == K::Dot && lex::is_word(tokens[at - 2].kind)) {
      cursor.dotted.insert(cursor.dotted.begin(), reader.word(at - 2));
      at -= 2;
    }
  }
  const bool on_new_line = before.substr(0, cursor.word_begin).find_last_not_of(" \t") == std::string_view::npos ||
                           before[before.substr(0, cursor.word_begin).find_last_not_of(" \t")] == '\n';
  std::vector<size_t> open;
  for (size_t i = 0; i < tokens.size(); ++i) {
    const K kind = tokens[i].kind;
    if (kind == K::OpenParen || kind == K::OpenBracket || kind == K::OpenBrace) open.push_back(i);
    if (kind == K::CloseParen || kind == K::CloseBracket || kind == K::CloseBrace) {
      // A `}` closes what was forgotten inside it.
      while (!open.empty() && kind == K::CloseBrace && tokens[open.back()].kind != K::OpenBrace) open.pop_back();
      if (!open.empty()) open.pop_back();
    }
  }
  size_t begin = 0;
  for (const size_t i : open) {
    if (tokens[i].kind != K::OpenBrace) continue;
    cursor.braces.push_back(head_word(reader, i));
    begin = i + 1;
  }
  for (auto i = open.rbegin(); i != open.rend() && tokens[*i].kind != K::OpenBrace; ++i) {
    if (i == open.rbegin() && tokens[*i].kind == K::OpenBracket) cursor.in_brackets = true;
    const bool is_call = tokens[*i].kind == K::OpenParen && *i > 0 && lex::is_word(tokens[*i - 1].kind);
    if (is_call) {
      cursor.call = call_at(reader, *i);
      break;
    }
  }
  const size_t entry =
      on_new_line && !cursor.call && !cursor.after_dot ? tokens.size() : reader.entry_begin(tokens.size(), begin);
  cursor.starts_entry = entry >= tokens.size();
  if (entry < tokens.size()) {
    cursor.entry_first = reader.word(entry);
    if (reader.is(entry + 1, K::Assign)) cursor.setting = cursor.entry_first;
  }
  if (!tokens.empty() && tokens.back().kind != K::Newline) {
    cursor.before = tokens.back().kind;
    cursor.before_text = reader.word(tokens.size() - 1);
  }
  return cursor;
}

std::string without_word(std::string text, uint32_t offset) {
  const Cursor cursor = cursor_at(text, offset);
  if (!cursor.after_dot) return text;
  // The rest of the word behind the place goes too; what stands before the dot is then whole.
  const auto is_letter = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; };
  uint32_t end = offset;
  while (end < text.size() && is_letter(text[end])) ++end;
  for (uint32_t i = cursor.dot; i < end; ++i) text[i] = text[i] == '\n' ? '\n' : ' ';
  return text;
}

}  // namespace ltr::language_server
