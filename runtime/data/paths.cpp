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
std::vector<OpenedFile> opened;

/// All places of `path`, best first, each once.
std::vector<Str> places_of(const Str& path, const char* name) {
  std::vector<Str> places{path};
  const auto whole = [](const fs::path& place) {
    std::error_code ignored;
    return fs::weakly_canonical(fs::absolute(place, ignored), ignored);
  };
  const auto add = [&](const fs::path& place) {
    const auto is_same = [&](const Str& one) { return whole(one) == whole(place); };
    if (std::none_of(places.begin(), places.end(), is_same)) places.push_back(place.lexically_normal().string());
  };
  if (fs::path(path).is_relative()) {
    if (const char* written_in = current_location().file; written_in != nullptr && written_in[0] != '\0')
      add(fs::path(written_in).parent_path() / path);
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
  if (name[0] != '\0') {
    const bool is_usual = fs::path(places.front()).lexically_normal() == fs::path("data") / name;
    help += fmt::format("; `ltrc data get {}{}` fetches them", name, is_usual ? "" : " --to " + places.front());
  }
  throw with_help(error_here(err::file_missing, what), help);
}

Str fingerprint_of_file(const Str& path, int64_t bytes) {
  constexpr int64_t kSample = int64_t(1) << 20;
  doors::Sha256 hash;
  hash.update(&bytes, sizeof bytes);
  std::ifstream file(path, std::ios::binary);
  std::vector<char> buffer(static_cast<size_t>(kSample));
  const auto sample = [&](int64_t start) {
    file.clear();
    file.seekg(start);
    file.read(buffer.data(), kSample);
    hash.update(buffer.data(), size_t(file.gcount()));
  };
  if (bytes <= kWholeBytes) {
    for (int64_t start = 0; start < bytes; start += kSample) sample(start);
  } else {
    for (const int64_t start : {int64_t(0), bytes / 2 - kSample / 2, bytes - kSample}) sample(start);
  }
  return hash.hex();
}

using NamesAndSizes = std::vector<std::pair<Str, int64_t>>;

/// Names and sizes alone: there may be a million images or sounds.
void take_entries(OpenedFile& whole, NamesAndSizes entries) {
  std::sort(entries.begin(), entries.end());
  doors::Sha256 hash;
  for (const auto& [name, bytes] : entries) {
    hash.update(name.c_str(), name.size() + 1);
    hash.update(&bytes, sizeof bytes);
    whole.bytes += bytes;
  }
  whole.fingerprint = hash.hex();
}

void take_folder(OpenedFile& folder) {
  NamesAndSizes entries;
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(folder.path)) {
    if (entry.is_regular_file())
      entries.emplace_back(entry.path().lexically_relative(folder.path).string(), int64_t(entry.file_size()));
  }
  take_entries(folder, std::move(entries));
}

/// False if a file of it is gone. Names are below the folder that all have in common, that of the first and last.
bool take_pattern(OpenedFile& pattern) {
  const fs::path first = fs::path(pattern.files.front()).parent_path();
  const fs::path last = fs::path(pattern.files.back()).parent_path();
  fs::path common;
  const auto ends = std::mismatch(first.begin(), first.end(), last.begin(), last.end());
  for (auto part = first.begin(); part != ends.first; ++part) common /= *part;
  NamesAndSizes entries;
  for (const Str& file : pattern.files) {
    std::error_code failed;
    const auto bytes = int64_t(fs::file_size(file, failed));
    if (failed) return false;
    entries.emplace_back(fs::path(file).lexically_relative(common).string(), bytes);
  }
  take_entries(pattern, std::move(entries));
  return true;
}

/// False if it is gone.
bool take_facts(OpenedFile& file) {
  if (!file.files.empty()) return take_pattern(file);
  std::error_code failed;
  if (fs::is_directory(file.path, failed)) {
    take_folder(file);
    return true;
  }
  file.bytes = int64_t(fs::file_size(file.path, failed));
  if (!failed) file.fingerprint = fingerprint_of_file(file.path, file.bytes);
  return !failed;
}

}  // namespace

void set_program_folders(std::vector<Str> folders) { program_folders = std::move(folders); }

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

std::vector<Str> find_files(const Str& pattern, Str* found_as) {
  const std::vector<Str> places = places_of(pattern, "");
  for (const Str& place : places) {
    glob_t found{};
    const int status = ::glob(place.c_str(), GLOB_NOSORT, nullptr, &found);
    std::vector<Str> files(found.gl_pathv, found.gl_pathv + found.gl_pathc);
    ::globfree(&found);
    std::sort(files.begin(), files.end());
    if (status != 0 || files.empty()) continue;
    if (found_as != nullptr) *found_as = place;
    return files;
  }
  missing(pattern, places, "");
}

void note_opened(const Str& path) { note_opened(path, {}); }

void note_opened(const Str& path, const std::vector<Str>& files) {
  const std::lock_guard lock(opened_mutex);
  const bool is_known =
      std::any_of(opened.begin(), opened.end(), [&](const OpenedFile& file) { return file.path == path; });
  if (!is_known) opened.push_back({.path = path, .files = files});
}

void note_records(const Str& path, int64_t records) {
  const std::lock_guard lock(opened_mutex);
  for (OpenedFile& file : opened) {
    if (file.path == path) file.records = records;
  }
}

void note_classes(const Str& path, const std::vector<int64_t>& classes) {
  const std::lock_guard lock(opened_mutex);
  for (OpenedFile& file : opened) {
    if (file.path == path && file.classes.empty()) file.classes = classes;
  }
}

void note_doubt(const Str& path, const Str& doubt) {
  const std::lock_guard lock(opened_mutex);
  for (OpenedFile& file : opened) {
    if (file.path == path) file.doubt = doubt;
  }
}

Str times_of(const OpenedFile& file) {
  Str text;
  const auto add = [&](const fs::path& path) {
    std::error_code failed;
    const auto time = fs::last_write_time(path, failed);
    text += fmt::format("{} {}\n", path.string(), failed ? 0 : time.time_since_epoch().count());
  };
  std::error_code failed;
  if (!file.files.empty()) {
    for (const Str& path : file.files) add(path);
  } else if (!fs::is_directory(file.path, failed)) {
    add(file.path);
  } else {
    std::vector<fs::path> paths;
    for (const fs::directory_entry& entry : fs::recursive_directory_iterator(file.path, failed)) {
      if (entry.is_regular_file(failed)) paths.push_back(entry.path());
    }
    std::sort(paths.begin(), paths.end());
    for (const fs::path& path : paths) add(path);
  }
  return text;
}

std::vector<OpenedFile> opened_files() {
  const std::lock_guard lock(opened_mutex);
  std::vector<OpenedFile> files;
  for (OpenedFile& file : opened) {
    if (!file.fingerprint.empty() || take_facts(file)) files.push_back(file);
  }
  return files;
}

}  // namespace ltr
