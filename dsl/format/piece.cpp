#include "dsl/format/piece.h"

#include <algorithm>
#include <unordered_map>

#include "dsl/source/line_index.h"

namespace ltr::format {

using K = lex::TokenKind;

namespace {

uint32_t count_newlines(std::string_view text) {
  return static_cast<uint32_t>(std::count(text.begin(), text.end(), '\n'));
}

std::string_view without_end_space(std::string_view text) {
  const size_t last = text.find_last_not_of(" \t\r\n");
  return last == std::string_view::npos ? std::string_view() : text.substr(0, last + 1);
}

class PieceCollector {
 public:
  PieceCollector(const lex::TokenBuffer& tokens, std::string_view text, const Roles& roles)
      : tokens_(tokens), text_(text), roles_(roles) {}

  std::vector<Piece> run() {
    bool follows_newline = true;
    for (size_t i = 0; i < tokens_.tokens.size(); ++i) {
      const lex::Token& token = tokens_.tokens[i];
      comments_before(token.span.begin);
      if (token.kind == K::Newline) {
        follows_newline = true;
        continue;
      }
      if (token.kind == K::End) break;
      Piece piece;
      piece.kind = token.kind;
      piece.begin = token.span.begin;
      uint32_t end = token.span.end;
      if (token.kind == K::StrBegin) {
        end = tokens_.tokens[i = end_of_string(i)].span.end;
        skip_comments_before(end);
      }
      piece.follows_newline = follows_newline;
      piece.is_grouping = roles_.grouping.contains(piece.begin);
      piece.is_unary = token.kind == K::Minus && roles_.unary.contains(piece.begin);
      piece.is_continued = roles_.continued.contains(piece.begin);
      piece.is_block_type = roles_.block_type.contains(piece.begin);
      brace(piece);
      add(piece, end);
      follows_newline = false;
    }
    comments_before(static_cast<uint32_t>(text_.size()) + 1);
    return std::move(pieces_);
  }

 private:
  size_t end_of_string(size_t at) const {
    for (size_t depth = 0;; ++at) {
      if (tokens_.tokens[at].kind == K::StrBegin) ++depth;
      if (tokens_.tokens[at].kind == K::StrEnd && --depth == 0) return at;
      if (tokens_.tokens[at].kind == K::End) return at - 1;
    }
  }

  void brace(Piece& piece) {
    if (piece.kind == K::OpenBrace) {
      const bool is_import = !pieces_.empty() && pieces_.back().kind == K::Dot;
      piece.is_body = !is_import && !roles_.record_type.contains(piece.begin);
      braces_.push_back(piece.is_body);
    } else if (piece.kind == K::CloseBrace && !braces_.empty()) {
      piece.is_body = braces_.back();
      braces_.pop_back();
    }
  }

  void comments_before(uint32_t offset) {
    for (; next_comment_ < tokens_.comments.size(); ++next_comment_) {
      const lex::Comment& comment = tokens_.comments[next_comment_];
      if (comment.span.begin >= offset) return;
      Piece piece;
      piece.is_comment = true;
      piece.begin = comment.span.begin;
      add(piece, comment.span.end);
    }
  }
  void skip_comments_before(uint32_t offset) {
    while (next_comment_ < tokens_.comments.size() && tokens_.comments[next_comment_].span.begin < offset)
      ++next_comment_;
  }

  void add(Piece& piece, uint32_t end) {
    piece.newlines = count_newlines(text_.substr(end_, piece.begin - end_));
    piece.text = text_.substr(piece.begin, end - piece.begin);
    if (piece.is_comment) piece.text = without_end_space(piece.text);
    end_ = end;
    pieces_.push_back(piece);
  }

  const lex::TokenBuffer& tokens_;
  std::string_view text_;
  const Roles& roles_;
  std::vector<Piece> pieces_;
  std::vector<bool> braces_;  ///< whether each open one is of a body
  size_t next_comment_ = 0;
  uint32_t end_ = 0;  ///< of the piece before
};

/// For every bracket the index of its other end.
std::unordered_map<size_t, size_t> pair_up(const std::vector<Piece>& pieces) {
  std::unordered_map<size_t, size_t> other;
  std::vector<size_t> open;
  for (size_t i = 0; i < pieces.size(); ++i) {
    if (pieces[i].is_opener()) open.push_back(i);
    if (!pieces[i].is_closer() || open.empty()) continue;
    other[open.back()] = i;
    other[i] = open.back();
    open.pop_back();
  }
  return other;
}

/// Whether the body from `first` to `last` has lines of its own: an entry of it begins or ends on
/// another line than its neighbour. An entry that itself needs several lines does not count.
bool is_open_body(const std::vector<Piece>& pieces, const std::unordered_map<size_t, size_t>& other, size_t first,
                  size_t last) {
  if (last == first + 1) return false;
  for (size_t i = first + 1; i <= last; ++i) {
    const bool is_edge = i == first + 1 || i == last || begins_entry(pieces, i);
    if (pieces[i].is_comment || (is_edge && pieces[i].newlines > 0)) return true;
    if (pieces[i].is_opener()) i = other.at(i);
  }
  return false;
}

}  // namespace

bool Piece::is_opener() const { return kind == K::OpenParen || kind == K::OpenBracket || kind == K::OpenBrace; }
bool Piece::is_closer() const { return kind == K::CloseParen || kind == K::CloseBracket || kind == K::CloseBrace; }

bool begins_entry(const std::vector<Piece>& pieces, size_t at) {
  const Piece& piece = pieces[at];
  if (piece.is_comment || piece.kind == K::CloseBrace || piece.kind == K::Else) return false;
  if (piece.follows_newline) return true;
  while (at > 0 && pieces[at - 1].is_comment) --at;
  if (at == 0) return true;
  const Piece& before = pieces[at - 1];
  return before.kind == K::Semicolon || (before.kind == K::OpenBrace && before.is_body) ||
         (before.kind == K::Comma && !piece.is_continued);
}

std::vector<Piece> lay_out(const lex::TokenBuffer& tokens, std::string_view text, const Roles& roles) {
  std::vector<Piece> pieces = PieceCollector(tokens, text, roles).run();
  const auto other = pair_up(pieces);
  std::vector<Piece> laid_out;
  std::vector<bool> open = {true};  // Of the brackets around: those whose entries have own lines.
  uint32_t newlines = 0;
  bool has_entry_end = false;
  for (size_t i = 0; i < pieces.size(); ++i) {
    Piece piece = pieces[i];
    const bool is_first = laid_out.empty();
    if (piece.is_closer() && open.size() > 1 && !piece.is_body) open.pop_back();
    if (piece.kind == K::Semicolon) {
      const bool is_last = i + 1 == pieces.size() || pieces[i + 1].kind == K::CloseBrace;
      const bool is_lone = is_first || laid_out.back().kind == K::OpenBrace || laid_out.back().kind == K::Semicolon;
      // Behind a comment there is no line whose end the comment behind this could go to.
      const bool holds_comment = i + 1 < pieces.size() && pieces[i + 1].is_comment && pieces[i + 1].newlines == 0 &&
                                 (is_first || laid_out.back().is_comment);
      if ((open.back() || is_last || is_lone) && !holds_comment) {
        newlines += piece.newlines;
        has_entry_end = true;
        continue;
      }
    }
    // A comment behind a semicolon that goes stays at the end of a line; alone it could become
    // the documentation of what follows.
    if (!piece.is_comment || piece.newlines > 0) piece.newlines += newlines;
    newlines = 0;
    if (has_entry_end && !piece.is_comment) {
      piece.follows_newline = true;
      has_entry_end = false;
    }
    const bool is_end = piece.kind == K::CloseBrace && piece.is_body;
    const bool ends_open = is_end && open.back();
    if (is_end && open.size() > 1) open.pop_back();
    if (is_first) {
      piece.breaks = true;
    } else {
      const Piece& before = laid_out.back();
      const bool begins_open = before.kind == K::OpenBrace && before.is_body && open.back();
      const bool is_empty = is_end && before.kind == K::OpenBrace;
      const bool joins_brace = piece.kind == K::Else && before.kind == K::CloseBrace && before.is_body;
      piece.breaks = before.is_comment || (piece.newlines > 0 && !is_empty && !joins_brace) ||
                     (begins_open && !piece.is_comment) || ends_open ||
                     (piece.follows_newline && !piece.is_comment && open.back());
    }
    if (piece.is_opener()) open.push_back(piece.is_body && is_open_body(pieces, other, i, other.at(i)));
    laid_out.push_back(piece);
  }
  return laid_out;
}

bool needs_space(const Piece& left, const Piece& right) {
  switch (right.kind) {
    case K::Comma:
    case K::Semicolon:
    case K::CloseParen:
    case K::CloseBracket:
    case K::Dot: return false;
    case K::CloseBrace: return right.is_body && left.kind != K::OpenBrace;
    case K::Colon: return left.kind == K::Comma;
    case K::OpenBrace:
      if (left.kind == K::Dot) return false;
      break;
    default: break;
  }
  if (left.kind == K::OpenParen || left.kind == K::OpenBracket || left.kind == K::Dot) return false;
  if (left.kind == K::OpenBrace) return left.is_body;
  if (left.is_unary) return false;
  if (right.kind == K::OpenParen || right.kind == K::OpenBracket) return right.is_grouping || left.is_block_type;
  return true;
}

uint32_t width(std::string_view text) {
  const size_t newline = text.rfind('\n');
  return source::count_characters(newline == std::string_view::npos ? text : text.substr(newline + 1));
}

}  // namespace ltr::format
