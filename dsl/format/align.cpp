#include <algorithm>
#include <map>

#include "dsl/format/piece.h"

namespace ltr::format {

namespace {

using K = lex::TokenKind;

/// The first line of an entry up to its `=` or `{`.
struct Head {
  size_t anchor = 0;           ///< index of the piece; 0: there is none
  uint32_t source_column = 0;  ///< where the author put it, from the beginning of the entry
  uint32_t source_gap = 0;     ///< spaces before it
  uint32_t natural = 0;        ///< where it stands with one space before it
  bool is_apart = false;       ///< a blank line stands before the entry
};

Head read_head(const std::vector<Piece>& pieces, size_t first, std::string_view text) {
  Head head;
  uint32_t column = 0;
  int depth = 0;
  for (size_t i = first; i < pieces.size(); ++i) {
    const Piece& piece = pieces[i];
    if (piece.is_comment || (i > first && piece.breaks)) return head;
    if (i > first && needs_space(pieces[i - 1], piece)) ++column;
    const bool is_anchor = piece.kind == K::Assign || (piece.kind == K::OpenBrace && piece.is_body);
    if (is_anchor && depth == 0) {
      const uint32_t begin = pieces[first].begin;
      const std::string_view before = text.substr(begin, piece.begin - begin);
      if (i == first || before.find('\n') != std::string_view::npos) return head;
      head.anchor = i;
      head.natural = column;
      head.source_column = width(before);
      head.source_gap = uint32_t(before.size() - 1 - before.find_last_not_of(' '));
      return head;
    }
    if (piece.is_opener()) ++depth;
    if (piece.is_closer() && --depth < 0) return head;
    column += width(piece.text);
  }
  return head;
}

void align(std::vector<Piece>& pieces, const std::vector<Head>& heads) {
  for (size_t first = 0; first < heads.size();) {
    size_t last = first + 1;
    while (last < heads.size() && !heads[last].is_apart && heads[last].anchor != 0 &&
           heads[last].source_column == heads[first].source_column)
      ++last;
    const auto begin = heads.begin() + long(first), end = heads.begin() + long(last);
    // One space everywhere is no alignment, only names of one length; no space anywhere is neither.
    const bool is_aligned = last > first + 1 && heads[first].anchor != 0 &&
                            std::all_of(begin, end, [](const Head& head) { return head.source_gap > 0; }) &&
                            std::any_of(begin, end, [](const Head& head) { return head.source_gap > 1; });
    if (is_aligned) {
      uint32_t column = 0;
      for (auto head = begin; head != end; ++head) column = std::max(column, head->natural);
      for (auto head = begin; head != end; ++head) pieces[head->anchor].pad = column - head->natural;
    }
    first = last;
  }
}

}  // namespace

void align_entries(std::vector<Piece>& pieces, std::string_view text) {
  struct Level {
    bool is_body = true;
    bool is_blank = false;  ///< behind the entry before; a comment in between carries it on
    std::vector<Head> heads;
  };
  std::vector<Level> levels(1);
  for (size_t i = 0; i < pieces.size(); ++i) {
    const Piece& piece = pieces[i];
    Level& level = levels.back();
    if (piece.breaks && piece.newlines > 1) level.is_blank = true;
    if (piece.breaks && level.is_body && begins_entry(pieces, i)) {
      Head head = read_head(pieces, i, text);
      head.is_apart = level.is_blank;
      level.is_blank = false;
      level.heads.push_back(head);
    }
    if (piece.is_opener()) levels.push_back({piece.is_body, false, {}});
    if (piece.is_closer() && levels.size() > 1) {
      align(pieces, levels.back().heads);
      levels.pop_back();
    }
  }
  align(pieces, levels.front().heads);
}

}  // namespace ltr::format
