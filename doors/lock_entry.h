#pragma once

#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace ltr::doors {

/// The files that a pattern such as `shards/*.tar` stands for, sorted.
std::vector<std::string> files_of_pattern(const std::string& pattern);

/// A file as an entry of an `ltr.lock`, `{bytes, sha256}`; a folder or pattern with the number of its `files`, and the sum of the sorted list of
/// them, `name size sha256` a line, where names begin behind the last folder without a wildcard. Null if nothing is there. `sum` gives
/// the SHA-256 of a file.
nlohmann::json lock_entry(const std::string& place, const std::function<std::string(const std::string& file)>& sum);

}  // namespace ltr::doors
