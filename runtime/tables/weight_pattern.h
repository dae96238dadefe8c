#pragma once

// Patterns that choose weights by name. Plain C++, since the compiler chooses as the program does.

#include <algorithm>
#include <string_view>
#include <vector>

namespace ltr {

/// Whether `name` fits `pattern`, in which `*` is any text, dots too, and `?` any character. A `*` in the name is the number
/// of a list whose length is not known, which fits any number of the pattern, too. As many steps as the one times the other.
inline bool matches(std::string_view pattern, std::string_view name) {
  // Whether what was read of the name fits the first i characters of the pattern.
  std::vector<bool> fits(pattern.size() + 1), next(pattern.size() + 1);
  const auto enter = [&](std::vector<bool>& places, size_t i) {
    places[i] = true;
    // A star may take nothing.
    while (i < pattern.size() && pattern[i] == '*') places[++i] = true;
  };
  enter(fits, 0);
  for (const char c : name) {
    std::fill(next.begin(), next.end(), false);
    for (size_t i = 0; i < pattern.size(); ++i) {
      if (!fits[i]) continue;
      if (pattern[i] == '*') enter(next, i);
      if (pattern[i] == '?' || pattern[i] == c) enter(next, i + 1);
      const auto is_digit = [&](size_t at) {
        return at < pattern.size() && (pattern[at] == '?' || (pattern[at] >= '0' && pattern[at] <= '9'));
      };
      for (size_t end = i; c == '*' && is_digit(end); ++end) enter(next, end + 1);
    }
    fits.swap(next);
  }
  return fits[pattern.size()];
}

}  // namespace ltr
