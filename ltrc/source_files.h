#pragma once

#include <optional>
#include <string>
#include <vector>

namespace ltr::driver {

/// `place` itself, or every `.ltr` file below it if it is a folder, sorted; hidden folders and those of
/// runs are left out. A file that does not exist is its own answer: who reads it says so.
std::vector<std::string> find_sources(const std::string& place);

/// Replaces a file by `text` in one step: readers see the old or the new text, never a part of it.
/// Keeps its permissions, and follows a link. Gives the reason if it could not be written.
std::optional<std::string> write_file(const std::string& file, const std::string& text);

}  // namespace ltr::driver
