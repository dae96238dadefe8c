#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "dsl/format/roles.h"
#include "dsl/lex/token.h"

namespace ltr::format {

/// A token, a whole string with what is interpolated, or a comment, as it stands in the text.
struct Piece {
  lex::TokenKind kind = lex::TokenKind::Error;
  uint32_t begin = 0;
  std::string_view text;
  uint32_t newlines = 0;  ///< line ends between the piece before and this one
  bool is_comment = false;
  bool follows_newline = false;  ///< a statement or entry ended before it
  bool is_grouping = false;      ///< `(` or `[` that stands for itself, not behind a callee or base
  bool is_unary = false;
  bool is_body = false;       ///< either brace of a body, not of a record type or import
  bool is_continued = false;  ///< belongs to its entry although a comma stands before it
  bool is_block_type = false;
  // Set by `lay_out`.
  bool breaks = false;  ///< begins a line
  uint32_t pad = 0;     ///< extra spaces before it, which align it with its siblings

  bool is_opener() const;
  bool is_closer() const;
};

/// The pieces of `text` in order, those of one line with their line breaks settled: what is in a
/// body of several lines has a line of its own, and semicolons that separate lines are gone.
std::vector<Piece> lay_out(const lex::TokenBuffer& tokens, std::string_view text, const Roles& roles);

/// Gives `pad` to the `=` and `{` that the author aligned over neighbouring entries.
void align_entries(std::vector<Piece>& pieces, std::string_view text);

/// Whether a space stands between two neighbours on one line.
bool needs_space(const Piece& left, const Piece& right);

/// An entry begins at `at`: a statement, member, setting or declaration.
bool begins_entry(const std::vector<Piece>& pieces, size_t at);

/// Width in characters of the last line of `text`.
uint32_t width(std::string_view text);

}  // namespace ltr::format
