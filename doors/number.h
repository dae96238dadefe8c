#pragma once

// Numbers as text, for people and files: the shortest decimals that read back to the same number.

#include <string>
#include <string_view>

namespace ltr::doors {

/// `0.1`, `1e-05`, `3`, `nan`, `inf`, `-inf`.
std::string shortest(double value);
/// As a JSON value: NaN and infinities are the strings "NaN", "Infinity", "-Infinity".
std::string json_number(double value);
/// In quotes, escaped.
std::string json_string(std::string_view text);

}  // namespace ltr::doors
