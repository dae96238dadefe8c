#include "runtime/data/paths.h"

#include <glob.h>
#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <mutex>

#include "doors/hash.h"
#include "runtime/api/error.h"

namespace ltr {

namespace {

namespace fs = std::filesystem;

std::vector<Str> program_folders;
std::mutex opened_mutex;
std::vector<Str> opened;

/// All places of `path`, best first, each once.
std::vector<Str> places_of(const Str& path, const char* name) {
  std::vector<Str> places{path};
  const auto add = [&](const fs::path& place) {
    const Str text = place.lexically_normal().string();
    if (std::find(places.begin(), places.end(), text) == places.end()) places.push_back(text);
  };
  if (fs::path(path).is_relative()) {
    for (const Str& folder : program_folders) add(fs::path(folder) / path);
  }
  if (name[0] != '\0') {
    const char* data_dir = std::getenv("LTR_DATA_DIR");
    if (data_dir != nullptr && data_dir[0] != '\0') add(fs::path(data_dir) / name);
    add(fs::path("data") / name);
  }
  return places;
}

[[noreturn]] void missing(const Str& what, const std::vector<Str>& places, const char* name) {
  Str help = "looked for: " + fmt::format("{}", fmt::join(places, ", "));
  if (name[0] != '\0') help += fmt::format("; download it with: ltrc data get {}", name);
  throw with_help(error_here(err::file_missing, what), help);
}

/// Of the size and three samples of 1 MiB: at the start, in the middle, at the end.
Str fingerprint(const Str& path, int64_t bytes) {
  constexpr int64_t kSample = int64_t(1) << 20;
  doors::Sha256 hash;
  hash.update(&bytes, sizeof bytes);
  std::ifstream file(path, std::ios::binary);
  std::vector<char> buffer(static_cast<size_t>(kSample));
  for (const int64_t start :
       {int64_t(0), std::max(int64_t(0), bytes / 2 - kSample / 2), std::max(int64_t(0), bytes - kSample)}) {
    file.clear();
    file.seekg(start);
    file.read(buffer.data(), kSample);
    hash.update(buffer.data(), size_t(file.gcount()));
  }
  return hash.hex();
}

}  // namespace

void set_program_folders(std::vector<Str> folders) {
  program_folders = std::move(folders);
}

Str find_path(const Str& path, const char* name) {
  const std::vector<Str> places = places_of(path, name);
  for (const Str& place : places) {
    std::error_code ignored;
    if (fs::exists(place, ignored)) return place;
  }
  missing(path, places, name);
}

Str find_in_root(const Str& root, const std::vector<Str>& alternatives, const char* name) {
  const std::vector<Str> places = places_of(root, name);
  for (const Str& place : places) {
    for (const Str& file : alternatives) {
      std::error_code ignored;
      Str path = (fs::path(place) / file).string();
      if (fs::exists(path, ignored)) return path;
    }
  }
  missing((fs::path(root) / alternatives[0]).string(), places, name);
}

std::vector<Str> places_beside(const Str& path) {
  std::vector<Str> places = places_of(path, "");
  std::rotate(places.begin(), places.begin() + 1, places.end());
  return places;
}

std::vector<Str> find_files(const Str& pattern) {
  const std::vector<Str> places = places_of(pattern, "");
  for (const Str& place : places) {
    glob_t found{};
    const int status = ::glob(place.c_str(), GLOB_NOSORT, nullptr, &found);
    std::vector<Str> files(found.gl_pathv, found.gl_pathv + found.gl_pathc);
    ::globfree(&found);
    std::sort(files.begin(), files.end());
    if (status == 0 && !files.empty()) return files;
  }
  missing(pattern, places, "");
}

void note_opened(const Str& path) {
  const std::lock_guard lock(opened_mutex);
  if (std::find(opened.begin(), opened.end(), path) == opened.end()) opened.push_back(path);
}

std::vector<OpenedFile> opened_files() {
  const std::lock_guard lock(opened_mutex);
  std::vector<OpenedFile> files;
  for (const Str& path : opened) {
    std::error_code failed;
    const auto bytes = int64_t(fs::file_size(path, failed));
    if (!failed) files.push_back({path, bytes, fingerprint(path, bytes)});
  }
  return files;
}

}  // namespace ltr
