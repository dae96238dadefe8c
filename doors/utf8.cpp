#include "doors/utf8.h"

#include <utf8proc.h>

#include <algorithm>
#include <cstdint>
#include <cstring>

namespace ltr::doors {

std::optional<size_t> first_not_utf8(std::string_view text) {
  constexpr uint64_t kHighBits = 0x8080808080808080;
  const auto* bytes = reinterpret_cast<const utf8proc_uint8_t*>(text.data());
  for (size_t at = 0; at < text.size();) {
    // Most of most texts is ASCII, which goes by in eights.
    uint64_t eight = 0;
    if (at + sizeof eight <= text.size()) {
      std::memcpy(&eight, bytes + at, sizeof eight);
      if ((eight & kHighBits) == 0) {
        at += sizeof eight;
        continue;
      }
    }
    if (bytes[at] < 0x80) {
      ++at;
      continue;
    }
    utf8proc_int32_t point = 0;
    const utf8proc_ssize_t length = utf8proc_iterate(bytes + at, utf8proc_ssize_t(text.size() - at), &point);
    if (length <= 0) return at;
    at += size_t(length);
  }
  return std::nullopt;
}

std::string utf8_fault(std::string_view text) {
  const std::optional<size_t> at = first_not_utf8(text);
  if (!at) return "";
  const auto is_begin = [](char c) { return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U; };
  const auto before = std::count_if(text.begin(), text.begin() + ptrdiff_t(*at), is_begin);
  constexpr const char* kDigits = "0123456789ABCDEF";
  const auto byte = static_cast<unsigned char>(text[*at]);
  return std::string("the byte 0x") + kDigits[byte >> 4U] + kDigits[byte & 15U] + " at character " +
         std::to_string(before + 1) + " is no UTF-8 (`iconv -f LATIN1 -t UTF-8` makes it of Latin-1)";
}

std::optional<LineFault> line_not_utf8(std::string_view text) {
  const std::optional<size_t> at = first_not_utf8(text);
  if (!at) return std::nullopt;
  const size_t begin = text.substr(0, *at).rfind('\n') + 1;  // npos + 1 is the first line
  const auto line = 1 + std::count(text.begin(), text.begin() + ptrdiff_t(begin), '\n');
  return LineFault{line, utf8_fault(text.substr(begin, *at + 1 - begin))};
}

}  // namespace ltr::doors
