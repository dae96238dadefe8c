#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>

#include "dsl/lex/token.h"

namespace ltr::parse {

using lex::TokenKind;

/// A set of kinds of tokens, in three words.
class KindSet {
 public:
  constexpr KindSet() = default;
  constexpr KindSet(TokenKind kind) { add(kind); }  // NOLINT(google-explicit-constructor): a set of one
  constexpr KindSet(std::initializer_list<TokenKind> kinds) {
    for (const TokenKind kind : kinds) add(kind);
  }
  constexpr bool has(TokenKind kind) const { return (words_[index(kind) / 64] >> (index(kind) % 64) & 1U) != 0; }
  friend constexpr KindSet operator|(KindSet a, const KindSet& b) {
    for (size_t i = 0; i < a.words_.size(); ++i) a.words_[i] |= b.words_[i];
    return a;
  }

 private:
  static constexpr size_t index(TokenKind kind) { return static_cast<size_t>(kind); }
  constexpr void add(TokenKind kind) { words_[index(kind) / 64] |= uint64_t{1} << (index(kind) % 64); }

  std::array<uint64_t, 3> words_{};
};
static_assert(lex::kTokenKinds <= 192);

/// What can name things.
inline constexpr KindSet kNames = {
    TokenKind::Name,
#define LTR_KEYWORD(name, text) TokenKind::name,
#include "dsl/lex/token_kind.def"
};
/// `kNames` and the reserved words, which may stand after `.`.
inline constexpr KindSet kWords = kNames | KindSet{
#define LTR_RESERVED(name, text) TokenKind::name,
#include "dsl/lex/token_kind.def"
                                           };

/// First words of statements.
inline constexpr KindSet kStatementWords = {
#define LTR_STATEMENT(Token, word) TokenKind::Token,
#include "dsl/ast/statement.def"
};

}  // namespace ltr::parse
