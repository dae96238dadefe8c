// `ltrc lock`: what experiments compute and read, as a file that is committed. `runtime/cli/locked.cpp` reads it, too.

#include "ltrc/lock.h"

#include <fmt/core.h>
#include <sys/stat.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>

#include "doors/file.h"
#include "doors/hash.h"
#include "doors/json.h"
#include "doors/lock_entry.h"
#include "dsl/parse/parse.h"
#include "ltrc/canonical.h"
#include "ltrc/commands.h"
#include "ltrc/exit_code.h"
#include "ltrc/read_places.h"
#include "ltrc/source_files.h"
#include "runtime/tables/named_files.h"

namespace ltr::driver {

namespace fs = std::filesystem;
using Json = nlohmann::json;

namespace {

constexpr const char* kLockName = "ltr.lock";
constexpr int kLockVersion = 1;
/// As `diff`: it could not be told.
constexpr int kNotTold = kUsage;

// ---- where they are

std::string shared_data() {
  const char* folder = std::getenv("LTR_DATA_DIR");
  return folder != nullptr ? folder : "";
}

fs::path normal(const fs::path& path) {
  std::error_code failed;
  return fs::absolute(path.empty() ? "." : path, failed).lexically_normal();
}

/// The name of a file, folder or pattern in the lock of `folder`: from there on; below `$LTR_DATA_DIR` as if it lay in `data`.
std::string name_in_lock(const fs::path& place, const fs::path& folder) {
  const fs::path whole = normal(place);
  if (const std::string shared = shared_data(); !shared.empty()) {
    const fs::path below = whole.lexically_relative(normal(shared));
    if (!below.empty() && *below.begin() != "..") return (fs::path("data") / below).string();
  }
  return whole.lexically_relative(normal(folder)).string();
}

/// Where a place that is read may be, the first that is there first.
std::vector<fs::path> candidates(const ReadPlace& read, const fs::path& program, const std::string& written_in) {
  const fs::path beside = fs::path(written_in).parent_path() / *read.path, of_program = program / *read.path;
  std::vector<fs::path> all = {*read.path, beside, of_program};
  if (read.is_weights) all = {beside, of_program, *read.path};
  if (const NamedFiles* named = find_named_files(read.source)) {
    if (const std::string shared = shared_data(); !shared.empty()) all.push_back(fs::path(shared) / named->data);
    all.push_back(fs::path("data") / named->data);
  }
  return all;
}

/// Those of `named` at the root `place`, of which each may be packed, or lie in the folder that it came in.
std::vector<std::string> found_named(const NamedFiles& named, const ReadPlace& read, const fs::path& place) {
  std::vector<std::string> found;
  std::error_code failed;
  for (const bool is_train : {true, false}) {
    if (read.is_train.value_or(is_train) != is_train) continue;
    for (const std::string& name : named.files(is_train)) {
      for (const fs::path& file : {place / name, place / (name + ".gz"), place / named.folder / name}) {
        if (!fs::is_regular_file(file, failed)) continue;
        found.push_back(file.string());
        break;
      }
    }
  }
  return found;
}

/// The files, folders or patterns that are read at `place`; none if nothing is there.
std::vector<std::string> found_at(const ReadPlace& read, const fs::path& place) {
  std::error_code failed;
  if (const NamedFiles* named = find_named_files(read.source)) return found_named(*named, read, place);
  std::string path = place.string();
  // `model.pt#NAME` is a part of a file.
  if (read.is_weights && !fs::exists(path, failed)) path = path.substr(0, path.rfind('#'));
  if (!fs::exists(path, failed))
    return doors::files_of_pattern(path).empty() ? std::vector<std::string>() : std::vector{path};
  // An index names the files beside it.
  if (path.ends_with(".index.json")) path = fs::path(path).parent_path().string();
  return {path};
}

/// What `found_at` gives at the first place where there is anything, and all places.
struct Search {
  std::vector<std::string> found;
  std::vector<fs::path> places;
};
Search find_read(const ReadPlace& read, const fs::path& folder, const Compilation& compilation) {
  Search search;
  search.places = candidates(read, folder, std::string(compilation.sources.path(read.loc.span.source)));
  for (const fs::path& place : search.places) {
    if (search.found.empty()) search.found = found_at(read, place);
  }
  return search;
}

// ---- their sums

/// SHA-256 of files. What has the size, time and inode that it had is not read again.
class FileSums {
 public:
  explicit FileSums(const fs::path& folder)
      : cache_(toolchain::cache_folder() / "locks" / toolchain::digest(normal(folder).string()).substr(0, 24)) {
    std::ifstream file(cache_);
    for (std::string sum, state, path; file >> sum >> state && std::getline(file.ignore(1), path);)
      known_[path] = {state, sum};
  }

  /// A file, a folder or a pattern as an entry of the lock; null if it is not there.
  Json entry(const std::string& place) {
    return doors::lock_entry(place, [this](const std::string& file) { return of_file(file); });
  }

  /// Keeps those that were asked for. A cache that cannot be written costs time alone.
  void save() const {
    std::string text;
    for (const auto& [path, one] : asked_) text += fmt::format("{} {} {}\n", one.sum, one.state, path);
    std::error_code failed;
    fs::create_directories(cache_.parent_path(), failed);
    if (!failed) (void)write_file(cache_.string(), text);
  }

 private:
  struct Known {
    std::string state, sum;
  };

  std::string of_file(const std::string& path) {
    struct stat facts{};
    const std::string name = normal(path).string();
    if (::stat(path.c_str(), &facts) != 0) return "";
    const std::string state =
        fmt::format("{}:{}.{:09}:{}", facts.st_size, facts.st_mtim.tv_sec, facts.st_mtim.tv_nsec, facts.st_ino);
    const auto known = known_.find(name);
    const bool is_known = known != known_.end() && known->second.state == state;
    const std::string sum = is_known ? known->second.sum : doors::sha256_file(path);
    // What was written just now may be written again within one tick of the file system's clock.
    const auto now = std::chrono::system_clock::to_time_t(std::chrono::system_clock::now());
    if (!sum.empty() && now - facts.st_mtim.tv_sec > 2) asked_[name] = {state, sum};
    return sum;
  }

  fs::path cache_;
  std::map<std::string, Known> known_, asked_;
};

// ---- the lock itself

/// What is here now, and what could not be found.
struct LockNow {
  Json lock;
  std::map<std::string, std::string> missing;  ///< by name in the lock: what reads it
  std::vector<std::string> notes;
};

std::string place_text(const Compilation& compilation, const ir::Loc& loc) {
  const auto begin = compilation.sources.position(loc.span).begin;
  return fmt::format("{}:{}:{}", compilation.sources.path(loc.span.source), begin.line, begin.column);
}

/// The lock without anything of programs.
Json empty_lock() {
  Json lock = {{"lock", kLockVersion}, {"edition", parse::kEdition}, {"ltrc", LTR_VERSION}};
  lock["toolchain"] = {{"libtorch", LTR_LIBTORCH_VERSION}};
  for (const char* section : {"sources", "extern", "data", "weights", "experiments"}) lock[section] = Json::object();
  return lock;
}

void add_sources(const Compilation& compilation, const fs::path& folder, Json& lock) {
  for (const resolve::Module& module : compilation.graph->modules) {
    if (module.is_library) continue;
    lock["sources"][name_in_lock(module.path, folder)] =
        "sha256:" + doors::sha256_hex(compilation.sources.text(module.ast.source));
  }
  for (const check::ExternFile& one : compilation.program->externs) {
    const fs::path file = fs::path(one.module).parent_path() / one.file;
    lock["extern"][name_in_lock(file, folder)] = "sha256:" + doors::sha256_file(file.string());
  }
}

void add_reads(const ir::Module& module, const ir::ExperimentInfo& experiment, const Compilation& compilation,
               const fs::path& folder, FileSums& sums, LockNow& now) {
  for (const ReadPlace& read : read_places(module, experiment)) {
    const std::string where = place_text(compilation, read.loc);
    if (!read.path) {
      now.notes.push_back(fmt::format("{}: only the run knows which file this is, so it is not locked", where));
      continue;
    }
    const auto [found, places] = find_read(read, folder, compilation);
    Json& section = now.lock[read.is_weights ? "weights" : "data"];
    for (const std::string& one : found) {
      const std::string name = name_in_lock(one, folder);
      if (!section.contains(name)) section[name] = sums.entry(one);
    }
    if (found.empty())
      for (const fs::path& place : places) now.missing.emplace(name_in_lock(place, folder), where);
  }
}

/// Adds the program `file`; false after its diagnostics.
bool add_program(const std::string& file, const Common& common, FileSums& sums, LockNow& now) {
  Compilation compilation;
  analyze(file, common, compilation);
  if (compilation.has_errors() || !compilation.program) {
    report(compilation, common);
    return false;
  }
  if (compilation.program->experiments.empty()) return true;
  const fs::path folder = fs::path(file).parent_path();
  const ir::Module module = to_ir(compilation, "", nullptr);
  for (const Canonical& form : canonical_forms(module)) {
    const std::string name = fs::path(file).filename().string() + " " + form.experiment;
    now.lock["experiments"][name] = "semantic:" + form.hash();
  }
  for (const ir::ExperimentInfo& experiment : module.tables->experiments)
    add_reads(module, experiment, compilation, folder, sums, now);
  add_sources(compilation, folder, now.lock);
  return true;
}

/// Sorted keys, an entry a line.
std::string text_of_lock(const Json& lock) {
  std::string text = "{\n";
  for (auto section = lock.begin(); section != lock.end(); ++section) {
    text += Json(section.key()).dump() + ": ";
    if (!section->is_object() || section->empty()) {
      text += section->dump();
    } else {
      text += "{";
      for (auto entry = section->begin(); entry != section->end(); ++entry)
        text +=
            fmt::format("{}\n  {}: {}", entry == section->begin() ? "" : ",", Json(entry.key()).dump(), entry->dump());
      text += "\n}";
    }
    text += std::next(section) == lock.end() ? "\n" : ",\n";
  }
  return text + "}\n";
}

/// How one entry differs, in words; `before` and `after` are null where there is none.
std::string moved(const Json& before, const Json& after, bool is_computed) {
  if (before.is_null()) return "is not locked";
  if (after.is_null()) return is_computed ? "is locked, and is gone" : "is locked, and nothing reads it";
  if (is_computed) return "computes something else";
  if (before.is_object() && after.is_object() && before["bytes"] != after["bytes"])
    return fmt::format("has {} bytes, and {} are locked", after["bytes"].dump(), before["bytes"].dump());
  return "holds something else";
}

/// What differs between the lock that is there and what is here now, in words.
std::vector<std::string> differences(const Json& before, const LockNow& now) {
  std::vector<std::string> out;
  for (const char* name : {"edition", "ltrc"}) {
    if (before.value(name, Json()) != now.lock[name])
      out.push_back(
          fmt::format("{}: {} is locked, this is {}", name, before.value(name, Json()).dump(), now.lock[name].dump()));
  }
  const Json toolchain = before.value("toolchain", Json::object());
  for (const auto& [name, value] : now.lock["toolchain"].items()) {
    if (toolchain.value(name, Json()) != value)
      out.push_back(
          fmt::format("{}: {} is locked, this is {}", name, toolchain.value(name, Json()).dump(), value.dump()));
  }
  std::set<std::string> told;
  for (const char* name : {"experiments", "extern", "data", "weights"}) {
    const Json old_section = before.value(name, Json::object());
    const Json& section = now.lock[name];
    Json both = old_section;
    both.update(section);
    for (const auto& [key, value] : both.items()) {
      const Json was = old_section.value(key, Json()), is = section.value(key, Json());
      const auto missing = now.missing.find(key);
      if (is.is_null() && missing != now.missing.end()) {
        out.push_back(fmt::format("{}: is not there ({})", key, missing->second));
        told.insert(missing->second);
      } else if (was != is) {
        out.push_back(fmt::format("{}: {}", key, moved(was, is, name == std::string("experiments"))));
      }
    }
  }
  for (const auto& [key, where] : now.missing) {
    if (told.insert(where).second) out.push_back(fmt::format("{}: is not there, and not locked ({})", key, where));
  }
  return out;
}

/// What is wrong with `lock`; "" if nothing.
std::string fault_of(const Json& lock) {
  if (!lock.is_object() || !lock.value("lock", Json()).is_number_integer()) return "it is no lock";
  if (lock["lock"] > kLockVersion)
    return fmt::format("it has version {}, and this ltrc reads up to {}", lock["lock"].dump(), kLockVersion);
  for (const char* section : {"toolchain", "sources", "extern", "data", "weights", "experiments"}) {
    if (!lock.value(section, Json::object()).is_object()) return fmt::format("`{}` is no object", section);
  }
  return "";
}

/// The lock of a folder; null if there is none. Nothing after a message.
std::optional<Json> read_lock(const fs::path& path) {
  std::error_code failed;
  if (!fs::exists(path, failed)) return Json();
  std::string fault;
  try {
    Json lock = doors::read_json(path.string());
    fault = fault_of(lock);
    if (fault.empty()) return lock;
  } catch (const std::exception& error) {
    fault = error.what();
  }
  fmt::print(stderr, "error: {}: {}\n  = help: remove it, and lock the programs again\n", path.string(), fault);
  return std::nullopt;
}

/// The programs of a lock, which are named before its experiments.
std::set<std::string> locked_programs(const Json& lock) {
  std::set<std::string> names;
  if (lock.is_null()) return names;
  const Json experiments = lock.value("experiments", Json::object());
  for (const auto& [key, value] : experiments.items()) names.insert(key.substr(0, key.rfind(' ')));
  return names;
}

int check_folder(const fs::path& path, const Json& before, const LockNow& now) {
  if (before.is_null()) {
    fmt::print(stderr, "error: there is no {}\n  = help: `ltrc lock` with the programs writes it\n", path.string());
    return kNotTold;
  }
  // A text that computes the same is no difference.
  const std::vector<std::string> different = differences(before, now);
  for (const std::string& one : different) fmt::print("{}: {}\n", path.string(), one);
  if (different.empty()) fmt::print("{}: as it was locked\n", path.string());
  return different.empty() ? kOk : kErrors;
}

int write_lock(const fs::path& path, const LockNow& now) {
  std::set<std::string> told;
  for (const auto& [name, where] : now.missing) {
    if (told.insert(where).second) fmt::print(stderr, "error: {}: {} is not there\n", where, name);
  }
  if (!told.empty()) return kNotTold;
  if (now.lock["experiments"].empty()) {
    fmt::print(stderr, "error: there is no experiment to lock\n");
    return kNotTold;
  }
  if (const auto reason = write_file(path.string(), text_of_lock(now.lock))) {
    fmt::print(stderr, "error: cannot write {}: {}\n", path.string(), *reason);
    return kNotTold;
  }
  fmt::print("{}: experiments {}, data {}, weights {}\n", path.string(), now.lock["experiments"].size(),
             now.lock["data"].size(), now.lock["weights"].size());
  return kOk;
}

/// Locks, or checks, the programs `names` of `folder` with those that its lock has.
int lock_folder(const fs::path& folder, std::set<std::string> names, const LockOptions& options, const Common& common) {
  const fs::path path = folder / kLockName;
  const auto before = read_lock(path);
  if (!before) return kNotTold;
  std::error_code failed;
  for (const std::string& name : locked_programs(*before)) {
    if (fs::exists(folder / name, failed)) names.insert(name);
  }
  FileSums sums(folder);
  LockNow now{empty_lock(), {}, {}};
  for (const std::string& name : names) {
    if (!add_program((folder / name).string(), common, sums, now)) return kNotTold;
  }
  sums.save();
  std::sort(now.notes.begin(), now.notes.end());
  now.notes.erase(std::unique(now.notes.begin(), now.notes.end()), now.notes.end());
  for (const std::string& note : now.notes) fmt::print(stderr, "note: {}\n", note);
  return options.check ? check_folder(path, *before, now) : write_lock(path, now);
}

}  // namespace

void warn_of_lock(const std::string& file, Compilation& compilation) {
  const fs::path folder = fs::path(file).parent_path(), path = folder / kLockName;
  std::error_code failed;
  if (compilation.has_errors() || !compilation.program || !fs::exists(path, failed)) return;
  Json lock;
  try {
    lock = doors::read_json(path.string());
  } catch (const std::exception&) {
  }
  if (!fault_of(lock).empty()) return;  // `ltrc lock` says what is wrong with it.
  FileSums sums(folder);
  const ir::Module module = to_ir(compilation, "", nullptr);
  for (const ir::ExperimentInfo& experiment : module.tables->experiments) {
    for (const ReadPlace& read : read_places(module, experiment)) {
      if (!read.path) continue;
      const std::vector<std::string> found = find_read(read, folder, compilation).found;
      const Json locked = lock.value(read.is_weights ? "weights" : "data", Json::object());
      for (const std::string& one : found) {
        const std::string name = name_in_lock(one, folder);
        if (!locked.contains(name) || locked[name] == sums.entry(one)) continue;
        compilation.sink->report(
            diag::locked_data_changed(read.loc.span, name).help("`ltrc lock {}` locks it as it is now", file));
      }
    }
  }
  sums.save();
}

int run_lock(const LockOptions& options, const Common& common) {
  std::map<fs::path, std::set<std::string>> folders;
  for (const std::string& given : options.files) {
    for (const std::string& file : find_sources(given))
      folders[fs::path(file).parent_path()].insert(fs::path(file).filename().string());
  }
  std::error_code failed;
  if (options.files.empty() && fs::exists(kLockName, failed)) folders[""];
  if (folders.empty()) {
    fmt::print(stderr, "error: no program is named, and there is no {} here\n  = help: ltrc lock FILE\n", kLockName);
    return kNotTold;
  }
  int status = kOk;
  for (const auto& [folder, names] : folders) status = std::max(status, lock_folder(folder, names, options, common));
  return status;
}

}  // namespace ltr::driver
