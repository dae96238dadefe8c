#pragma once

// Counts and indexes in variables that launchers set.

#include <charconv>

#include "ltr/api.h"

namespace ltr::distributed {

/// `text` as a number of digits alone, 0 or more; nothing for all else.
inline Option<int64_t> whole_number(const Str& text) {
  int64_t number = 0;
  const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (fault != std::errc() || end != text.data() + text.size() || text[0] == '-') return std::nullopt;
  return number;
}

}  // namespace ltr::distributed
