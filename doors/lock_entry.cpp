#include "doors/lock_entry.h"

#include <glob.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>

#include "doors/hash.h"

namespace ltr::doors {

namespace fs = std::filesystem;

std::vector<std::string> files_of_pattern(const std::string& pattern) {
  glob_t found{};
  ::glob(pattern.c_str(), GLOB_NOSORT, nullptr, &found);
  std::vector<std::string> files(found.gl_pathv, found.gl_pathv + found.gl_pathc);
  ::globfree(&found);
  std::ranges::sort(files);
  return files;
}

namespace {

/// The files below a folder or of a pattern, by their names there.
std::map<std::string, std::string> files_below(const fs::path& place) {
  std::map<std::string, std::string> files;
  std::error_code failed;
  if (fs::is_directory(place, failed)) {
    for (const auto& one : fs::recursive_directory_iterator(place, failed)) {
      if (one.is_regular_file(failed)) files[one.path().lexically_relative(place).string()] = one.path().string();
    }
    return files;
  }
  fs::path base;
  for (const fs::path& part : place.parent_path()) {
    if (part.string().find_first_of("*?[") != std::string::npos) break;
    base /= part;
  }
  for (const std::string& file : files_of_pattern(place.string())) {
    if (fs::is_regular_file(file, failed))
      files[fs::path(file).lexically_relative(base.empty() ? "." : base).string()] = file;
  }
  return files;
}

}  // namespace

nlohmann::json lock_entry(const std::string& place, const std::function<std::string(const std::string&)>& sum) {
  std::error_code failed;
  if (fs::is_regular_file(place, failed)) {
    const std::string one = sum(place);
    if (one.empty()) return {};
    return {{"bytes", fs::file_size(place, failed)}, {"sha256", one}};
  }
  const std::map<std::string, std::string> files = files_below(place);
  if (files.empty()) return {};
  std::string lines;
  uintmax_t bytes = 0;
  for (const auto& [name, file] : files) {
    const uintmax_t size = fs::file_size(file, failed);
    lines += name + " " + std::to_string(size) + " " + sum(file) + "\n";
    bytes += size;
  }
  return {{"bytes", bytes}, {"files", files.size()}, {"sha256", sha256_hex(lines)}};
}

}  // namespace ltr::doors
