#include <algorithm>
#include <utility>

#include "dsl/lex/layout.h"

namespace ltr::lex {

namespace {

/// The opener that `kind` closes, or `Error`.
TokenKind opener_of(TokenKind kind) {
  if (kind == TokenKind::CloseParen) return TokenKind::OpenParen;
  if (kind == TokenKind::CloseBracket) return TokenKind::OpenBracket;
  if (kind == TokenKind::CloseBrace) return TokenKind::OpenBrace;
  if (kind == TokenKind::InterpEnd) return TokenKind::InterpBegin;
  return TokenKind::Error;
}

/// What a `)` cannot see past: a forgotten `)` must not take the brace of the body with it.
bool is_wall(TokenKind opener, TokenKind wanted) {
  if (opener == TokenKind::InterpBegin) return wanted != TokenKind::InterpBegin;
  return opener == TokenKind::OpenBrace && wanted != TokenKind::OpenBrace && wanted != TokenKind::InterpBegin;
}

/// One way through the tokens with a stack of open brackets.
class Pairing {
 public:
  /// With `by_indent`, a brace that is the last of its line and one that is the first of its line belong together
  /// only if their lines are indented alike, and a line that is not indented deeper ends the braces before it.
  Pairing(const std::vector<Token>& tokens, bool by_indent) : tokens_(tokens), by_indent_(by_indent) {}

  std::vector<BracketPair> run() {
    for (uint32_t i = 0; i < tokens_.size(); ++i) {
      if (tokens_[i].starts_line && starts_statement(i)) {
        ++line_;
        indent_ = tokens_[i].indent;
        if (by_indent_) end_by_indent(i);
      }
      step(i);
    }
    return std::move(pairs_);
  }

  /// Brackets without another end.
  size_t mistakes() const { return mistakes_; }

 private:
  struct Open {
    uint32_t pair = 0;
    uint32_t line = 0;  ///< counted in statements
    uint16_t indent = 0;
  };

  TokenKind kind_of(const Open& open) const { return tokens_[pairs_[open.pair].opener].kind; }

  bool starts_statement(uint32_t at) const {
    if (!open_.empty() && kind_of(open_.back()) != TokenKind::OpenBrace) return false;
    const bool is_first = at > 0 && tokens_[at - 1].kind == TokenKind::OpenBrace;
    return is_first || tokens_[at].kind == TokenKind::CloseBrace || !joins_lines(tokens_, at);
  }

  void end_by_indent(uint32_t at) {
    const Token& token = tokens_[at];
    const bool is_closer = token.kind == TokenKind::CloseBrace;
    while (!open_.empty() && kind_of(open_.back()) == TokenKind::OpenBrace && open_.back().line < line_ &&
           (token.indent < open_.back().indent || (!is_closer && token.indent == open_.back().indent))) {
      give_up(1, at);
    }
  }

  void step(uint32_t at) {
    const TokenKind kind = tokens_[at].kind;
    if (is_opener(kind)) {
      open_.push_back({static_cast<uint32_t>(pairs_.size()), line_, indent_});
      pairs_.push_back({at, at, false});
    } else if (const TokenKind wanted = opener_of(kind); wanted != TokenKind::Error) {
      close(at, wanted);
    } else if (kind == TokenKind::End) {
      give_up(open_.size(), at);
    } else if (!open_.empty() && starts_declaration(tokens_[at], tokens_[at + 1])) {
      // Every bracket still open here was forgotten; but if the line is indented, it may itself be what is wrong, and
      // only brackets that hold no statements are given up.
      size_t unclosed = open_.size();
      if (tokens_[at].indent > 0) {
        const auto is_brace = [&](const Open& open) { return kind_of(open) == TokenKind::OpenBrace; };
        unclosed = static_cast<size_t>(std::find_if(open_.rbegin(), open_.rend(), is_brace) - open_.rbegin());
      }
      give_up(unclosed, at);
    }
  }

  void close(uint32_t at, TokenKind wanted) {
    size_t inner = 0;
    while (inner < open_.size()) {
      const Open& open = open_[open_.size() - 1 - inner];
      if (kind_of(open) == wanted) break;
      // Within one statement it is rather the brace that lacks its end.
      const bool is_passable = kind_of(open) == TokenKind::OpenBrace && open.line == line_;
      if (is_wall(kind_of(open), wanted) && !is_passable) inner = open_.size();
      ++inner;
    }
    if (inner >= open_.size() || !fits(at, open_[open_.size() - 1 - inner])) {
      ++mistakes_;
      return;
    }
    give_up(inner, at);
    pairs_[open_.back().pair].closer = at;
    pairs_[open_.back().pair].is_closed = true;
    open_.pop_back();
  }

  bool fits(uint32_t closer, const Open& open) const {
    if (!by_indent_ || tokens_[closer].kind != TokenKind::CloseBrace) return true;
    return tokens_[closer].starts_line ? tokens_[closer].indent == open.indent : open.line == line_;
  }

  void give_up(size_t count, uint32_t at) {
    mistakes_ += count;
    for (; count > 0; --count) {
      pairs_[open_.back().pair].closer = at;
      open_.pop_back();
    }
  }

  const std::vector<Token>& tokens_;
  bool by_indent_;
  uint32_t line_ = 0;
  uint16_t indent_ = 0;
  size_t mistakes_ = 0;
  std::vector<Open> open_;
  std::vector<BracketPair> pairs_;
};

}  // namespace

std::vector<BracketPair> pair_brackets(const std::vector<Token>& tokens) {
  Pairing plain(tokens, false);
  std::vector<BracketPair> pairs = plain.run();
  if (plain.mistakes() == 0) return pairs;
  // Something is missing, and where it is missing can only be guessed from how the program is laid out. If that
  // finds more mistakes, the program is not laid out at all.
  Pairing indented(tokens, true);
  std::vector<BracketPair> guessed = indented.run();
  return indented.mistakes() <= plain.mistakes() ? guessed : pairs;
}

}  // namespace ltr::lex
