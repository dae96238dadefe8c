#include "ltrc/data_files.h"

#include <glob.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>

#include "doors/json.h"

namespace ltr::driver {

namespace {

/// Where a path or pattern of the source at `from` may be, the first that holds first.
std::array<std::filesystem::path, 2> places_of(const std::string& path, const std::string& from) {
  return {path, std::filesystem::path(from).parent_path() / path};
}

/// The files that a pattern names, in the order in which they are read.
std::vector<std::string> named_by(const std::filesystem::path& pattern) {
  glob_t found{};
  ::glob(pattern.c_str(), GLOB_NOSORT, nullptr, &found);
  std::vector<std::string> files(found.gl_pathv, found.gl_pathv + found.gl_pathc);
  ::globfree(&found);
  std::sort(files.begin(), files.end());
  return files;
}

/// The first line of a file that is not blank; nothing if it is no JSON object.
std::optional<check::FirstRow> first_row_of(const std::string& path, bool& is_empty) {
  constexpr size_t kLongest = size_t(16) << 20;  // A row that is longer is seen when it is read.
  std::error_code failed;
  if (!std::filesystem::is_regular_file(path, failed)) return std::nullopt;
  std::ifstream file(path, std::ios::binary);
  std::string line;
  int64_t number = 1;
  bool is_blank = true;
  for (int c = file.get(); c != EOF && (c != '\n' || is_blank); c = file.get()) {
    if (c == '\n') {
      line.clear();
      ++number;
      continue;
    }
    if (line.size() == kLongest) return std::nullopt;
    line += char(c);
    is_blank = is_blank && (c == ' ' || c == '\t' || c == '\r');
  }
  is_empty = is_blank && file.eof();
  const nlohmann::json row = is_blank ? nlohmann::json() : doors::try_json(line);
  if (!row.is_object()) return std::nullopt;
  check::FirstRow result{path + ":" + std::to_string(number), {}};
  for (const auto& [name, value] : row.items()) result.fields.push_back(name);
  return result;
}

}  // namespace

std::optional<std::string> DataFilesHere::first_line(const std::string& path, const std::string& from) const {
  for (const std::filesystem::path& place : places_of(path, from)) {
    std::error_code failed;
    if (!std::filesystem::is_regular_file(place, failed) || place.extension() == ".gz") continue;
    std::ifstream file(place);
    std::string line;
    if (!std::getline(file, line)) return std::nullopt;
    if (line.ends_with('\r')) line.pop_back();
    return line;
  }
  return std::nullopt;
}

std::optional<check::FirstRow> DataFilesHere::first_row(const std::string& pattern, const std::string& from) const {
  for (const std::filesystem::path& place : places_of(pattern, from)) {
    const std::vector<std::string> files = named_by(place);
    for (const std::string& file : files) {
      bool is_empty = false;
      auto row = first_row_of(file, is_empty);
      if (!is_empty) return row;
    }
    if (!files.empty()) break;
  }
  return std::nullopt;
}

}  // namespace ltr::driver
