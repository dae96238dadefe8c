#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace ltr::driver {

/// A file that an archive held, by its path below the folder.
struct UnpackedFile {
  std::string name;
  uint64_t bytes = 0;
  std::string sha256;
};

/// Writes the files of a tar archive (packed with gzip or not) below `folder`. std::runtime_error for a path that leaves it, and
/// what doors::FormatError says of damaged ones; nothing is written then.
std::vector<UnpackedFile> unpack_tar(const std::filesystem::path& archive, const std::filesystem::path& folder);

}  // namespace ltr::driver
