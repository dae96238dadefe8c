#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "dsl/source/span.h"

namespace ltr::lex {

using source::Span;

enum class TokenKind : uint8_t {
#define LTR_TOKEN(name, text) name,
#define LTR_PUNCTUATION(name, text) name,
#define LTR_RESERVED(name, text) name,
#define LTR_KEYWORD(name, text) name,
#include "dsl/lex/token_kind.def"
};

inline constexpr size_t kTokenKinds = 0
#define LTR_TOKEN(name, text) +1
#define LTR_PUNCTUATION(name, text) +1
#define LTR_RESERVED(name, text) +1
#define LTR_KEYWORD(name, text) +1
#include "dsl/lex/token_kind.def"
    ;

/// The enumerator, for dumps: `OpenParen`.
std::string_view name_of(TokenKind kind);
/// How a message calls it: "`(`", "a name", "end of line".
std::string describe(TokenKind kind);
/// The spelling of punctuation and words; empty for the others.
std::string_view spelling(TokenKind kind);
bool is_reserved(TokenKind kind);
bool is_keyword(TokenKind kind);
/// A name, or a keyword, which names things wherever it has no meaning of its own.
inline bool is_name(TokenKind kind) { return kind == TokenKind::Name || is_keyword(kind); }
/// Any word: also one that is reserved.
inline bool is_word(TokenKind kind) { return is_name(kind) || is_reserved(kind); }
/// `Name` if `word` is no word of the language.
TokenKind find_word(std::string_view word);
/// All words, for did-you-mean.
const std::vector<std::string_view>& all_words();

struct Token {
  TokenKind kind = TokenKind::Error;
  bool starts_line = false;  ///< the first token on its line
  bool after_space = false;  ///< white space or a comment stands before it
  uint16_t indent = 0;       ///< of one that starts its line: bytes before it there, at most 65,535
  uint32_t value = 0;        ///< index into the buffer's `ints`, `floats` or `strings`, by kind
  Span span;
};

struct Comment {
  Span span;
  bool is_doc = false;     ///< `##`
  bool owns_line = false;  ///< nothing stands before it on its line
};

/// The `##` lines above a declaration, without marks.
struct Doc {
  uint32_t owner_begin = 0;  ///< offset of the first token of the declaration
  std::string text;
};

/// An opening bracket and where it ends. A bracket that is never closed ends at the token that showed it.
struct BracketPair {
  uint32_t opener = 0;  ///< index of a token
  uint32_t closer = 0;
  bool is_closed = false;
};

/// The result of `lex`. The last token is `End`. Comments are kept beside the tokens for the formatter.
struct TokenBuffer {
  source::SourceId source;
  std::vector<Token> tokens;
  std::vector<int64_t> ints;         ///< of `Int`
  std::vector<double> floats;        ///< of `Float`
  std::vector<std::string> strings;  ///< of `Str`, `StrText`, `InterpFormat`, `Unit` (empty: an unknown unit)
  std::vector<Comment> comments;
  std::vector<Doc> docs;              ///< sorted by owner
  std::vector<BracketPair> brackets;  ///< sorted by opener

  const std::string* find_doc(uint32_t owner_begin) const;
  /// The pair that `token` opens.
  const BracketPair* find_bracket(uint32_t token) const;
};

}  // namespace ltr::lex
