#pragma once

// The one way in for JSON from outside: bounded in size and depth before anything is built of it.

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

namespace ltr::doors {

/// `text` as a value; `name` (a file, a flag) is for messages. FormatError with the byte for what is no JSON, is larger
/// than limits::kJsonBytes or nested deeper than limits::kJsonDepth, or has a name twice in one object.
nlohmann::json parse_json(std::string_view text, const std::string& name);
/// Where each member stands: of `{"a": {"b": 1}}` the bytes of `"a"` and `"b"`, by the names `a` and `a.b`. Of several that are called
/// so the first.
using JsonPlaces = std::map<std::string, uint64_t>;
nlohmann::json parse_json(std::string_view text, const std::string& name, JsonPlaces& places);
/// The same, `is_discarded()` for what is refused.
nlohmann::json try_json(std::string_view text);
/// The file at `path`. std::system_error if it cannot be read.
nlohmann::json read_json(const std::string& path);

/// Refuses as `parse_json` what is too large or too deep, for who parses it with an eye on more.
void bound_json(std::string_view text, const std::string& name);

}  // namespace ltr::doors
