#include "doors/tokenizer/charsmap.h"

#include <utf8proc.h>

#include <algorithm>
#include <cstring>
#include <stdexcept>

#include "doors/base64.h"
#include "doors/tokenizer/unicode.h"

namespace ltr::doors {

namespace {

// Parts of a unit of Darts-clone (Yata 2008).
bool has_leaf(uint32_t unit) { return (unit >> 8 & 1) != 0; }
uint32_t label(uint32_t unit) { return unit & (1U << 31 | 0xFF); }
uint32_t value(uint32_t unit) { return unit & ((1U << 31) - 1); }
uint32_t offset(uint32_t unit) { return (unit >> 10) << ((unit & 1U << 9) >> 6); }

/// Where the cluster of characters that begins at `at` ends.
size_t cluster_end(std::string_view text, size_t at) {
  utf8proc_int32_t state = 0;
  char32_t last = next_char(text, at);
  while (at < text.size()) {
    size_t next = at;
    const char32_t c = next_char(text, next);
    if (utf8proc_grapheme_break_stateful(utf8proc_int32_t(last), utf8proc_int32_t(c), &state)) break;
    last = c;
    at = next;
  }
  return at;
}

}  // namespace

Charsmap::Charsmap(std::string_view base64) {
  const auto decoded = decode_base64(base64);
  if (!decoded) throw std::invalid_argument("precompiled_charsmap is no base64");
  const std::string& bytes = *decoded;
  uint32_t size = 0;
  if (bytes.size() >= sizeof size) std::memcpy(&size, bytes.data(), sizeof size);
  if (size == 0 || size % 4 != 0 || size > bytes.size() - sizeof size)
    throw std::invalid_argument("precompiled_charsmap is cut off");
  trie_.resize(size / 4);
  std::memcpy(trie_.data(), bytes.data() + sizeof size, size);
  texts_ = bytes.substr(sizeof size + size) + '\0';
}

const char* Charsmap::find(std::string_view chunk) const {
  uint32_t node = offset(trie_[0]);
  for (const char c : chunk) {
    node ^= static_cast<unsigned char>(c);
    if (c == '\0' || node >= trie_.size() || label(trie_[node]) != static_cast<unsigned char>(c)) return nullptr;
    const uint32_t unit = trie_[node];
    node ^= offset(unit);
    if (!has_leaf(unit)) continue;
    const uint32_t at = node < trie_.size() ? value(trie_[node]) : uint32_t(texts_.size());
    return at < texts_.size() ? texts_.data() + at : nullptr;
  }
  return nullptr;
}

std::string Charsmap::normalize(std::string_view text) const {
  constexpr size_t kLongest = 6;  // A longer cluster is looked up character by character.
  std::string out;
  for (size_t at = 0; at < text.size();) {
    const size_t end = cluster_end(text, at);
    const std::string_view cluster = text.substr(at, end - at);
    const char* whole = cluster.size() < kLongest ? find(cluster) : nullptr;
    if (whole != nullptr) out += whole;
    for (size_t i = at; i < end && whole == nullptr;) {
      const size_t begin = i;
      next_char(text, i);
      const std::string_view one = text.substr(begin, i - begin);
      const char* by = find(one);
      if (by != nullptr) {
        out += by;
      } else {
        out += one;
      }
    }
    at = end;
  }
  return out;
}

}  // namespace ltr::doors
