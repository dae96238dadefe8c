#pragma once

// The words that begin declarations.

#include <algorithm>
#include <iterator>
#include <string_view>

namespace ltr::language_server {

struct DeclaringWord {
  std::string_view word;
  bool is_importable;  ///< files of the library declare such names for others
  bool has_items;      ///< what stands in its braces begins with a word, too
};

/// In the order of the nodes of `ast::Decl`, behind its error.
inline constexpr DeclaringWord kDeclaringWords[] = {
    {"import", false, false},     {"hparam", false, false}, {"type", false, false},   {"const", false, false},
    {"fn", true, false},          {"extern", false, false}, {"metric", true, true},   {"data", true, true},
    {"block", true, true},        {"model", true, true},    {"callback", true, true}, {"topology", false, false},
    {"experiment", false, false}, {"test", false, false},
};

/// The row of that word, or nullptr.
constexpr const DeclaringWord* find_declaring(std::string_view word) {
  const auto* row = std::find_if(std::begin(kDeclaringWords), std::end(kDeclaringWords),
                                 [&](const DeclaringWord& one) { return one.word == word; });
  return row == std::end(kDeclaringWords) ? nullptr : row;
}

}  // namespace ltr::language_server
