#include "ltrc/source_files.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>

namespace ltr::driver {

namespace fs = std::filesystem;

std::vector<std::string> find_sources(const std::string& place) {
  std::error_code error;
  if (!fs::is_directory(place, error)) return {place};
  std::vector<std::string> files;
  auto at = fs::recursive_directory_iterator(place, fs::directory_options::skip_permission_denied, error);
  for (; !error && at != fs::end(at); at.increment(error)) {
    const std::string name = at->path().filename().string();
    // What a run keeps of its source says what it ran.
    if (at->is_directory(error) && (name.starts_with(".") || fs::exists(at->path() / "run.json", error))) {
      at.disable_recursion_pending();
    } else if (at->is_regular_file(error) && at->path().extension() == ".ltr") {
      const std::string path = at->path().lexically_normal().string();
      files.push_back(path);
    }
  }
  std::sort(files.begin(), files.end());
  return files;
}

std::optional<std::string> write_file(const std::string& file, const std::string& text) {
  std::error_code error;
  const fs::path target = fs::exists(file, error) ? fs::canonical(file, error) : fs::path(file);
  if (error) return error.message();
  if (fs::exists(target, error) && access(target.c_str(), W_OK) != 0) return std::strerror(errno);
  std::string temporary = (target.parent_path() / ("." + target.filename().string() + ".XXXXXX")).string();
  const int descriptor = mkstemp(temporary.data());
  if (descriptor < 0) return std::strerror(errno);
  size_t written = 0;
  while (written < text.size()) {
    const ssize_t count = write(descriptor, text.data() + written, text.size() - written);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) break;
    written += size_t(count);
  }
  int problem = written < text.size() || fsync(descriptor) != 0 ? errno : 0;
  if (close(descriptor) != 0 && problem == 0) problem = errno;
  if (problem == 0) {
    const fs::file_status old = fs::status(target, error);
    const fs::perms perms = fs::exists(old) ? old.permissions() : fs::perms(0644);
    fs::permissions(temporary, perms, error);
    if (rename(temporary.c_str(), target.c_str()) == 0) return std::nullopt;
    problem = errno;
  }
  unlink(temporary.c_str());
  return std::strerror(problem);
}

}  // namespace ltr::driver
