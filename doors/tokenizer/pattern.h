#pragma once

// Patterns over texts as tokenizers write them, by PCRE2: `\s \w \d` and `\b` by Unicode.

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

namespace ltr::doors {

class Pattern {
 public:
  /// std::invalid_argument with what PCRE2 says of a pattern that is none.
  static Pattern regex(const std::string& pattern);
  /// Of a text as it stands.
  static Pattern text(const std::string& text);

  /// Calls `visit(begin, end)` with each match in `text`, which is valid UTF-8, from left to right.
  void for_each_match(std::string_view text, const std::function<void(size_t, size_t)>& visit) const;
  std::string replaced(std::string_view text, std::string_view by) const;

 private:
  struct Compiled;
  std::shared_ptr<const Compiled> compiled_;  // Of a regex.
  std::string text_;
};

}  // namespace ltr::doors
