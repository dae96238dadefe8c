#include "runtime/data/files_read.h"

#include <filesystem>

namespace ltr {

namespace {

namespace fs = std::filesystem;

thread_local FilesRead* reading_here = nullptr;

/// "TIME BYTES PATH"; a path may hold anything but the 0 behind it.
Str line_of(const Str& path) {
  std::error_code failed;
  const auto time = fs::last_write_time(path, failed);
  const auto bytes = fs::file_size(path, failed);
  return fmt::format("{} {} {}", failed ? 0 : time.time_since_epoch().count(), failed ? 0 : bytes, path);
}

}  // namespace

FilesRead::FilesRead() : around_(reading_here) { reading_here = this; }

FilesRead::~FilesRead() {
  reading_here = around_;
  if (around_ != nullptr) around_->paths_.merge(paths_);
}

void FilesRead::note(const Str& path) {
  if (reading_here != nullptr) reading_here->paths_.insert(path);
}

Str FilesRead::text() const {
  Str text;
  for (const Str& path : paths_) text += line_of(path) + '\0';
  return text;
}

bool FilesRead::are_same(std::string_view text) {
  while (!text.empty()) {
    const size_t end = text.find('\0');
    const std::string_view line = text.substr(0, end);
    const size_t first = line.find(' '), second = line.find(' ', first + 1);
    if (end == std::string_view::npos || second == std::string_view::npos) return false;
    const Str path(line.substr(second + 1));
    note(path);
    if (line != line_of(path)) return false;
    text.remove_prefix(end + 1);
  }
  return true;
}

}  // namespace ltr
