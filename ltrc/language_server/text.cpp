#include "ltrc/language_server/text.h"

#include <algorithm>

namespace ltr::language_server {

namespace {

/// Bytes of the character that begins with `lead`.
uint32_t width_of(char lead) {
  const auto byte = static_cast<unsigned char>(lead);
  return byte < 0x80 ? 1 : byte < 0xe0 ? 2 : byte < 0xf0 ? 3 : 4;
}

uint32_t number_in(const Json& position, const char* name) {
  const auto found = position.find(name);
  return found != position.end() && found->is_number_unsigned() ? found->get<uint32_t>() : 0;
}

}  // namespace

uint32_t utf16_length(std::string_view text) {
  uint32_t units = 0;
  for (size_t i = 0; i < text.size(); i += width_of(text[i])) units += width_of(text[i]) == 4 ? 2 : 1;
  return units;
}

uint32_t offset_of(std::string_view text, const source::LineIndex& lines, const Json& position) {
  if (!position.is_object()) return 0;
  const uint32_t line = number_in(position, "line"), character = number_in(position, "character");
  if (line >= lines.line_count()) return uint32_t(text.size());
  const std::string_view row = lines.line_text(text, line + 1);
  uint32_t at = 0, units = 0;
  while (at < row.size() && units < character) {
    const uint32_t width = width_of(row[at]);
    units += width == 4 ? 2 : 1;
    at += width;
  }
  return lines.begin_of(line + 1) + std::min<uint32_t>(at, uint32_t(row.size()));
}

Json position_of(std::string_view text, const source::LineIndex& lines, uint32_t offset) {
  offset = std::min<uint32_t>(offset, uint32_t(text.size()));
  const uint32_t line = lines.line_of(offset), begin = lines.begin_of(line);
  return {{"line", line - 1}, {"character", utf16_length(text.substr(begin, offset - begin))}};
}

Json range_of(const source::SourceManager& sources, Span span) {
  const std::string_view text = sources.text(span.source);
  const source::LineIndex& lines = sources.lines(span.source);
  return {{"start", position_of(text, lines, span.begin)},
          {"end", position_of(text, lines, std::max(span.begin, span.end))}};
}

void apply_change(std::string& text, const Json& change) {
  const auto range = change.find("range");
  if (range == change.end() || !range->is_object()) {
    text = change.at("text").get<std::string>();
    return;
  }
  const source::LineIndex lines(text);
  const uint32_t begin = offset_of(text, lines, range->at("start"));
  const uint32_t end = std::max(begin, offset_of(text, lines, range->at("end")));
  text.replace(begin, end - begin, change.at("text").get<std::string>());
}

std::string path_of(const std::string& uri) {
  constexpr std::string_view kScheme = "file://";
  if (!uri.starts_with(kScheme)) return uri;
  std::string path;
  for (size_t i = kScheme.size(); i < uri.size(); ++i) {
    if (uri[i] == '%' && i + 2 < uri.size() && std::isxdigit(static_cast<unsigned char>(uri[i + 1])) != 0 &&
        std::isxdigit(static_cast<unsigned char>(uri[i + 2])) != 0) {
      path += char(std::stoi(uri.substr(i + 1, 2), nullptr, 16));
      i += 2;
    } else {
      path += uri[i];
    }
  }
  return path;
}

std::string uri_of(const std::string& path) {
  if (!path.starts_with("/")) return path;  // Of another scheme.
  constexpr std::string_view kHex = "0123456789ABCDEF", kPlain = "/-._~";
  std::string uri = "file://";
  for (const char c : path) {
    const auto byte = static_cast<unsigned char>(c);
    if ((std::isalnum(byte) != 0 && byte < 0x80) || kPlain.find(c) != std::string_view::npos) {
      uri += c;
    } else {
      uri += '%';
      uri += kHex[byte >> 4U];
      uri += kHex[byte & 0xfU];
    }
  }
  return uri;
}

namespace {

/// Lines with their ends.
std::vector<std::string_view> lines_of(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size() - 1) + 1;
    lines.push_back(text.substr(0, end));
    text.remove_prefix(end);
  }
  return lines;
}

}  // namespace

std::vector<TextEdit> line_edits(source::SourceId id, std::string_view before, std::string_view after) {
  const std::vector<std::string_view> old_lines = lines_of(before), new_lines = lines_of(after);
  size_t head = 0, old_end = old_lines.size(), new_end = new_lines.size();
  while (head < std::min(old_end, new_end) && old_lines[head] == new_lines[head]) ++head;
  while (old_end > head && new_end > head && old_lines[old_end - 1] == new_lines[new_end - 1]) {
    --old_end;
    --new_end;
  }
  const size_t rows = old_end - head, columns = new_end - head;
  // The longest common subsequence of what differs, unless that would take long.
  constexpr size_t kMaxCells = size_t{4} << 20U;
  const bool is_small = (rows + 1) * (columns + 1) <= kMaxCells;
  std::vector<uint32_t> common(is_small ? (rows + 1) * (columns + 1) : 0);
  const auto cell = [&](size_t i, size_t j) -> uint32_t& { return common[i * (columns + 1) + j]; };
  if (is_small) {
    for (size_t i = rows; i-- > 0;) {
      for (size_t j = columns; j-- > 0;) {
        cell(i, j) = old_lines[head + i] == new_lines[head + j] ? cell(i + 1, j + 1) + 1
                                                                : std::max(cell(i + 1, j), cell(i, j + 1));
      }
    }
  }
  std::vector<TextEdit> edits;
  uint32_t at = 0;
  for (size_t i = 0; i < head; ++i) at += uint32_t(old_lines[i].size());
  bool is_open = false;
  const auto open = [&] {
    if (!is_open) edits.push_back({Span{id, at, at}, ""});
    is_open = true;
  };
  size_t i = 0, j = 0;
  while (i < rows || j < columns) {
    const bool is_same = is_small && i < rows && j < columns && old_lines[head + i] == new_lines[head + j];
    if (is_same) {
      is_open = false;
      at += uint32_t(old_lines[head + i].size());
      ++i, ++j;
      continue;
    }
    open();
    if (i < rows && (!is_small || j == columns || cell(i + 1, j) >= cell(i, j + 1))) {
      at += uint32_t(old_lines[head + i].size());
      edits.back().span.end = at;
      ++i;
    } else {
      edits.back().text += new_lines[head + j];
      ++j;
    }
  }
  return edits;
}

}  // namespace ltr::language_server
