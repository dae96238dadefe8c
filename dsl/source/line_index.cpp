#include "dsl/source/line_index.h"

#include <algorithm>
#include <bit>
#include <cstring>

namespace ltr::source {

namespace {

constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";

/// Bytes between two counts of characters: columns of a line of a megabyte are found as fast as others.
constexpr uint32_t kStride = 1024;

bool begins_character(char c) { return (static_cast<unsigned char>(c) & 0xc0U) != 0x80U; }

}  // namespace

LineIndex::LineIndex(std::string_view text) : starts_{0} {
  uint32_t characters = 0;
  for (size_t i = 0; i <= text.size(); i += kStride) {
    characters_.push_back(characters);
    characters += count_characters(text.substr(i, kStride));
  }
  for (size_t end = text.find('\n'); end != std::string_view::npos; end = text.find('\n', end + 1))
    starts_.push_back(static_cast<uint32_t>(end + 1));
}

uint32_t LineIndex::line_of(uint32_t offset) const {
  const auto after = std::upper_bound(starts_.begin(), starts_.end(), offset);
  return static_cast<uint32_t>(after - starts_.begin());
}

uint32_t LineIndex::begin_of(uint32_t line) const {
  return line >= 1 && line <= starts_.size() ? starts_[line - 1] : 0;
}

std::string_view LineIndex::line_text(std::string_view text, uint32_t line) const {
  if (line < 1 || line > starts_.size()) return {};
  const size_t begin = starts_[line - 1];
  const size_t end = line < starts_.size() ? starts_[line] : text.size();
  std::string_view content = text.substr(begin, end - begin);
  if (content.ends_with('\n')) content.remove_suffix(1);
  if (content.ends_with('\r')) content.remove_suffix(1);
  if (line == 1 && content.starts_with(kByteOrderMark)) content.remove_prefix(kByteOrderMark.size());
  return content;
}

Position LineIndex::position(std::string_view text, uint32_t offset) const {
  offset = std::min(offset, static_cast<uint32_t>(text.size()));
  const uint32_t line = line_of(offset);
  const uint32_t begin = begin_of(line);
  const bool is_near = offset - begin < kStride;
  const uint32_t column = 1 + (is_near ? count_characters(text.substr(begin, offset - begin))
                                       : characters_before(text, offset) - characters_before(text, begin));
  // The mark is no character that an editor shows, so it has no column.
  const bool has_mark = line == 1 && text.substr(0, offset).starts_with(kByteOrderMark);
  return {line, has_mark ? column - 1 : column};
}

uint32_t LineIndex::characters_before(std::string_view text, uint32_t offset) const {
  const uint32_t from = offset - offset % kStride;
  return characters_[offset / kStride] + count_characters(text.substr(from, offset - from));
}

uint32_t count_characters(std::string_view text) {
  // Eight bytes at a time: those that go on with a character have 10 as their first bits.
  uint32_t count = 0;
  for (; text.size() >= sizeof(uint64_t); text.remove_prefix(sizeof(uint64_t))) {
    uint64_t bytes = 0;
    std::memcpy(&bytes, text.data(), sizeof bytes);
    count += 8U - static_cast<uint32_t>(std::popcount((bytes >> 7U) & ~(bytes >> 6U) & 0x0101010101010101U));
  }
  for (const char c : text) {
    if (begins_character(c)) ++count;
  }
  return count;
}

size_t offset_of(std::string_view text, uint32_t number) {
  constexpr size_t kStep = 1024;
  size_t offset = 0;
  uint32_t before = 0;  // characters that begin in front of it
  while (offset + kStep <= text.size()) {
    const uint32_t here = count_characters(text.substr(offset, kStep));
    if (before + here >= number) break;
    before += here;
    offset += kStep;
  }
  for (; offset < text.size(); ++offset) {
    if (begins_character(text[offset]) && ++before == number) break;
  }
  return offset;
}

bool changes_direction(std::string_view text) {
  // U+202A to U+202E, and U+2066 to U+2069.
  if (text.size() < 3 || text[0] != '\xe2') return false;
  const auto last = static_cast<unsigned char>(text[2]);
  return (text[1] == '\x80' && last >= 0xaa && last <= 0xae) || (text[1] == '\x81' && last >= 0xa6 && last <= 0xa9);
}

}  // namespace ltr::source
