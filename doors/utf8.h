#pragma once

// Whether bytes are text.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace ltr::doors {

/// Where the first byte of `text` is that is no UTF-8, nothing if there is none. Overlong forms and surrogates are none.
std::optional<size_t> first_not_utf8(std::string_view text);

/// What is wrong with `text` that is no UTF-8, and what can be done; "" if it is.
std::string utf8_fault(std::string_view text);

struct LineFault {
  int64_t line;  ///< from 1
  std::string fault;
};
/// The same of a text of lines: of the first that is no UTF-8.
std::optional<LineFault> line_not_utf8(std::string_view text);

}  // namespace ltr::doors
