#include "runtime/cli/locked.h"

#include <fnmatch.h>

#include <cstdlib>
#include <filesystem>
#include <set>

#include "doors/hash.h"
#include "doors/json.h"
#include "doors/lock_entry.h"
#include "doors/shell.h"
#include "runtime/cli/version.h"
#include "runtime/data/paths.h"
#include "runtime/train/trainer.h"

namespace ltr::cli {

namespace {

namespace fs = std::filesystem;
using nlohmann::json;

/// The newest form of locks that is read here.
constexpr int kNewestLock = 1;

fs::path whole_path(const fs::path& path) {
  std::error_code failed;
  return fs::absolute(path, failed).lexically_normal();
}

/// An `ltr.lock`, and what is told of it.
class Lock {
 public:
  Lock(const fs::path& path, json lock) : path_(path), lock_(std::move(lock)) {}

  std::vector<Str> differences(const Start& start) {
    compare("ltrc", lock_.value("ltrc", json()), start.program.compiler);
    compare("edition", lock_.value("edition", json()), start.program.edition);
    compare("LibTorch", section("toolchain").value("libtorch", json()), libtorch_version());
    experiment(start);
    for (const OpenedFile& file : opened_files()) {
      if (file.files.empty())
        opened(file.path);
      else
        for (const Str& one : file.files) opened(one);
    }
    return std::move(out_);
  }

 private:
  json section(const char* name) const {
    const json found = lock_.value(name, json::object());
    return found.is_object() ? found : json::object();
  }

  void compare(const char* what, const json& locked, const json& here) {
    if (locked != here) out_.push_back(fmt::format("{}: {} is locked, this is {}", what, locked.dump(), here.dump()));
  }

  void experiment(const Start& start) {
    const Str name = start.experiment->name, hash = start.experiment->semantic_hash;
    const json experiments = section("experiments");
    const auto found = experiments.find(fs::path(start.program.sources[0].path).filename().string() + " " + name);
    if (found == experiments.end())
      out_.push_back(fmt::format("the experiment {} is not locked", name));
    else if (hash.empty())
      out_.push_back("this program does not say what it computes: build it anew");
    else if (*found != "semantic:" + hash)
      out_.push_back(fmt::format("the experiment {} computes something else", name));
  }

  /// A file or folder that was opened: it is locked by itself, or with a folder or pattern that it belongs to.
  void opened(const Str& path) {
    const fs::path whole = whole_path(path), beside = whole_path(path_).parent_path();
    std::vector<std::pair<fs::path, Str>> names = {{beside, whole.lexically_relative(beside).string()}};
    if (const char* shared = std::getenv("LTR_DATA_DIR"); shared != nullptr && shared[0] != '\0') {
      const fs::path below = whole.lexically_relative(whole_path(shared));
      // Its entries are named as if it were the folder `data` beside the program.
      if (!below.empty() && *below.begin() != "..") names.push_back({whole_path(shared), "data" / below});
    }
    for (const char* kind : {"data", "weights"}) {
      const json entries = section(kind);
      for (const auto& [base, name] : names) {
        for (const auto& [key, locked] : entries.items()) {
          if (!holds(key, name)) continue;
          const bool is_shared = base != beside;
          hold(key, base / (is_shared ? fs::path(key).lexically_relative("data") : fs::path(key)), locked);
          return;
        }
      }
    }
    out_.push_back(fmt::format("{} is not locked", path));
  }

  static bool holds(const Str& key, const Str& name) {
    return key == name || name.starts_with(key + "/") || ::fnmatch(key.c_str(), name.c_str(), FNM_PATHNAME) == 0;
  }

  void hold(const Str& key, const fs::path& place, const json& locked) {
    if (!held_.insert(key).second) return;
    // What was summed before is no sum of what is there now.
    const json here = doors::lock_entry(place.string(), [](const Str& file) { return doors::sha256_file(file); });
    if (here.is_null()) return out_.push_back(fmt::format("{} is not there", key));
    if (here == locked) return;
    const json bytes = locked.is_object() ? locked.value("bytes", json()) : json();
    out_.push_back(bytes != here["bytes"]
                       ? fmt::format("{} has {} bytes, and {} are locked", key, here["bytes"].dump(), bytes.dump())
                       : fmt::format("{} holds something else", key));
  }

  fs::path path_;
  json lock_;
  std::vector<Str> out_;
  std::set<Str> held_;
};

/// Beside the program as it was built, else here.
fs::path place_of_lock(const Program& program) {
  const fs::path beside = fs::path(program.sources[0].path).parent_path() / "ltr.lock";
  std::error_code failed;
  return fs::exists(beside, failed) ? beside : fs::path("ltr.lock");
}

/// Everything that keeps the run from its start; "" if nothing. It throws nothing: other ranks wait for it.
Str why_not(const Start& start) {
  const fs::path path = place_of_lock(start.program);
  std::error_code failed;
  if (!fs::exists(path, failed)) return fmt::format("there is no ltr.lock beside {}", start.program.sources[0].path);
  try {
    json lock = doors::read_json(path.string());
    const json version = lock.is_object() ? lock.value("lock", json()) : json();
    if (!version.is_number_integer() || version > kNewestLock)
      return fmt::format("{} is no lock that this program reads", path.string());
    const std::vector<Str> differences = Lock(path, std::move(lock)).differences(start);
    if (differences.empty()) return "";
    return fmt::format("{} differs from what is here: {}", path.string(), fmt::join(differences, "; "));
  } catch (const std::exception& error) {
    return fmt::format("{} cannot be compared: {}", path.string(), error.what());
  }
}

}  // namespace

void check_lock(const Start& start) {
  const Str reason = start.ranks.of_first(start.ranks.is_first() ? why_not(start) : "");
  if (reason.empty()) return;
  throw with_help(error_at({}, err::lock_differs, reason),
                  fmt::format("`ltrc lock {}` locks what is here now; without --locked nothing is compared",
                              doors::shell_word(start.program.sources[0].path)));
}

}  // namespace ltr::cli
