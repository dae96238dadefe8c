#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace ltr::source {

/// A place as people count it: line and column from 1, the column in characters (code points).
struct Position {
  uint32_t line = 1;
  uint32_t column = 1;
};

/// Where the lines of one text begin. A line ends at `\n` or `\r\n`.
class LineIndex {
 public:
  explicit LineIndex(std::string_view text);

  uint32_t line_count() const { return static_cast<uint32_t>(starts_.size()); }

  /// The line, from 1, that holds byte `offset`; an offset past the end is on the last line.
  uint32_t line_of(uint32_t offset) const;
  /// First byte of `line` (from 1).
  uint32_t begin_of(uint32_t line) const;
  /// The line without its end; empty for a line that does not exist. `text` is the text indexed.
  std::string_view line_text(std::string_view text, uint32_t line) const;
  Position position(std::string_view text, uint32_t offset) const;

 private:
  uint32_t characters_before(std::string_view text, uint32_t offset) const;

  std::vector<uint32_t> starts_;
  std::vector<uint32_t> characters_;  ///< that begin before each block of the text
};

/// Number of code points in `text`; a stray byte counts as one.
uint32_t count_characters(std::string_view text);

/// Where character `number` of `text` begins, from 1, in bytes; its end if there are fewer.
size_t offset_of(std::string_view text, uint32_t number);

/// Whether `text` begins with a character that turns the direction in which what follows is shown.
bool changes_direction(std::string_view text);

}  // namespace ltr::source
