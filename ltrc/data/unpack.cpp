#include "ltrc/data/unpack.h"

#include <fmt/core.h>

#include <stdexcept>

#include "doors/file.h"
#include "doors/hash.h"
#include "doors/tar.h"

namespace ltr::driver {

namespace fs = std::filesystem;

namespace {

bool leaves_folder(const fs::path& path) {
  if (path.empty() || path.is_absolute()) return true;
  for (const fs::path& part : path) {
    if (part == "..") return true;
  }
  return false;
}

}  // namespace

std::vector<UnpackedFile> unpack_tar(const fs::path& archive, const fs::path& folder) {
  const std::string bytes = doors::read_file(archive);
  const std::vector<doors::TarEntry> entries = doors::read_tar(bytes, archive);
  for (const doors::TarEntry& entry : entries) {
    if (leaves_folder(entry.name))
      throw std::runtime_error(fmt::format("it holds `{}`, outside of its folder", entry.name));
  }
  std::vector<UnpackedFile> files;
  for (const doors::TarEntry& entry : entries) {
    const fs::path path = folder / entry.name;
    fs::create_directories(path.parent_path());
    const std::string_view content = std::string_view(bytes).substr(entry.offset, entry.size);
    // A link that somebody made there may lead elsewhere.
    if (!fs::weakly_canonical(path).string().starts_with(fs::weakly_canonical(folder).string() + "/"))
      throw std::runtime_error(fmt::format("{} leads out of its folder", path.string()));
    doors::write_file_atomically(path, content);
    files.push_back({entry.name, entry.size, doors::sha256_hex(content)});
  }
  return files;
}

}  // namespace ltr::driver
