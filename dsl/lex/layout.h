#pragma once

#include <vector>

#include "dsl/lex/token.h"

/// Where statements end and which brackets belong together. Both are asked by each other, so they share a header.
namespace ltr::lex {

inline bool is_opener(TokenKind kind) {
  return kind == TokenKind::OpenParen || kind == TokenKind::OpenBracket || kind == TokenKind::OpenBrace ||
         kind == TokenKind::InterpBegin;
}

/// A line that only the top level of a file can have.
bool starts_declaration(const Token& token, const Token& next);

/// Whether more has to follow, on the next line at the latest: behind an operator, a comma, an opening bracket.
bool joins_next_line(TokenKind kind);

/// Whether the line that begins at `at` goes on with the statement of the line before, brackets aside.
bool joins_lines(const std::vector<Token>& tokens, size_t at);

/// Every bracket with its other end, sorted by opener. If some are missing, indentation decides which.
std::vector<BracketPair> pair_brackets(const std::vector<Token>& tokens);

}  // namespace ltr::lex
