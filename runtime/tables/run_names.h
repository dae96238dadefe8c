#pragma once

// What programs may call that which a run writes. Plain C++, since the compiler asks, too.

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

namespace ltr {

/// In bytes: file systems take 255, and something may be put in front or behind.
inline constexpr size_t kLongestRunName = 200;

/// What is wrong with the name of a checkpoint; what stands in `{…}` is filled in later, and left out here. Nothing if it is right.
inline std::optional<std::string> wrong_checkpoint_name(std::string_view pattern) {
  std::string name;
  for (size_t i = 0; i < pattern.size(); ++i) {
    const size_t end = pattern[i] == '{' ? pattern.find('}', i) : std::string_view::npos;
    if (pattern[i] == '{' && end == std::string_view::npos) return "a `{` has no `}`";
    name += end == std::string_view::npos ? pattern[i] : '0';
    if (end != std::string_view::npos) i = end;
  }
  if (name.find('/') != std::string::npos) return "a checkpoint is a folder of `checkpoints`, and `/` parts folders";
  if (name.empty() || name == "." || name == "..") return "a checkpoint is a folder with a name";
  if (name == "last" || name == "best") return "`" + name + "` is the link to a checkpoint, and none itself";
  return std::nullopt;
}

/// The name of a table inside the run folder; nothing for what lies elsewhere, or is another file.
inline std::optional<std::string> table_of_run(const std::string& given) {
  const std::filesystem::path path = std::filesystem::path(given).lexically_normal();
  if (path.is_absolute() || path.empty() || *path.begin() == ".." || path.extension() != ".csv") return std::nullopt;
  return path.string();
}

}  // namespace ltr
