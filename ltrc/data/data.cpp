// `ltrc data list|get|check`.

#include <fmt/color.h>
#include <fmt/core.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <optional>

#include "doors/file.h"
#include "doors/hash.h"
#include "doors/json.h"
#include "doors/shell.h"
#include "dsl/diagnostics/suggest.h"
#include "ltrc/commands.h"
#include "ltrc/data/catalog.h"
#include "ltrc/data/fetch.h"
#include "ltrc/data/unpack.h"
#include "ltrc/exit_code.h"
#include "ltrc/project.h"

namespace ltr::driver {

namespace fs = std::filesystem;

namespace {

/// What was unpacked, beside it.
constexpr const char* kManifest = ".ltr-data.json";
/// How often each mirror is asked.
constexpr int kTries = 2;

std::string size_text(uint64_t bytes) {
  return bytes >= 1'000'000 ? fmt::format("{:.1f} MB", double(bytes) / 1e6)
                            : fmt::format("{:.1f} kB", double(bytes) / 1e3);
}

/// Where programs look for it.
fs::path folder_of(const CatalogEntry& entry, const DataCommandOptions& options) {
  if (!options.to.empty()) return options.to;
  const char* shared = std::getenv("LTR_DATA_DIR");
  return fs::path(shared != nullptr && shared[0] != '\0' ? shared : "data") / entry.name;
}

enum class State : uint8_t { Missing, Wrong, Right };

nlohmann::json manifest_of(const fs::path& folder, const PublishedFile& file) {
  std::error_code failed;
  if (!fs::exists(folder / kManifest, failed)) return {};
  try {
    return doors::read_json(folder / kManifest).at(file.sha256);
  } catch (const std::exception&) {
    return {};
  }
}

/// What is there of `file`, sums and all; `wrong` becomes the first path that is not as it was published.
State state_of(const fs::path& folder, const PublishedFile& file, std::string& wrong) {
  std::error_code failed;
  const auto check = [&](const fs::path& path, uint64_t bytes, const std::string& sum) {
    if (!fs::exists(path, failed)) return State::Missing;
    if (fs::file_size(path, failed) == bytes && !failed && doors::sha256_file(path) == sum) return State::Right;
    wrong = path;
    return State::Wrong;
  };
  if (file.unpack.empty()) return check(folder / file.name, file.bytes, file.sha256);
  const nlohmann::json unpacked = manifest_of(folder, file);
  if (!unpacked.is_array()) return State::Missing;
  State state = State::Right;
  for (const nlohmann::json& one : unpacked) {
    const State found = check(folder / one.value("name", ""), one.value("bytes", uint64_t(0)), one.value("sha256", ""));
    if (found == State::Missing) wrong = folder / one.value("name", "");
    state = std::min(state, found == State::Missing ? State::Wrong : found);
  }
  return state;
}

void report(const std::string& text) { fmt::print(stderr, "error: {}\n", text); }

/// R3009 of a file that came with another sum.
void report_sum(const std::string& from, const std::string& found, const PublishedFile& file) {
  fmt::print(stderr, "error[R3009]: {} has digest {}, but {} is expected\n", from, found, file.sha256);
}

/// Puts the published file that lies at `part` where it belongs.
bool settle(const fs::path& part, const fs::path& folder, const PublishedFile& file) {
  std::error_code failed;
  if (file.unpack.empty()) {
    fs::rename(part, folder / file.name, failed);
    if (failed) report(fmt::format("cannot write {}: {}", (folder / file.name).string(), failed.message()));
    return !failed;
  }
  try {
    nlohmann::json list = nlohmann::json::array();
    for (const UnpackedFile& one : unpack_tar(part, folder))
      list.push_back({{"name", one.name}, {"bytes", one.bytes}, {"sha256", one.sha256}});
    nlohmann::json all = nlohmann::json::object();
    if (fs::exists(folder / kManifest, failed)) all = doors::read_json(folder / kManifest);
    all[file.sha256] = std::move(list);
    doors::write_file_atomically(folder / kManifest, all.dump(1));
  } catch (const std::exception& error) {
    report(fmt::format("cannot unpack {}: {}", file.name, error.what()));
    return false;
  }
  fs::remove(part, failed);
  return true;
}

/// A file that was brought by hand.
bool take_from_folder(const fs::path& source, const fs::path& folder, const PublishedFile& file) {
  std::error_code failed;
  if (!fs::is_regular_file(source, failed)) {
    report(fmt::format("there is no {}", source.string()));
    return false;
  }
  if (const std::string sum = doors::sha256_file(source); sum != file.sha256) {
    report_sum(source, sum, file);
    return false;
  }
  const fs::path part = folder / (file.name + ".part");
  fs::copy_file(source, part, fs::copy_options::overwrite_existing, failed);
  if (failed) {
    report(fmt::format("cannot write {}: {}", part.string(), failed.message()));
    return false;
  }
  return settle(part, folder, file);
}

bool download(const std::vector<std::string>& urls, const fs::path& folder, const PublishedFile& file) {
  const fs::path part = folder / (file.name + ".part");
  std::error_code failed;
  std::string reasons;
  for (const std::string& url : urls) {
    for (int turn = 0; turn < kTries; ++turn) {
      const std::string reason = fetch(url, part, file.bytes);
      if (!reason.empty()) {
        reasons += fmt::format("  {}: {}\n", url, reason);
        continue;
      }
      const std::string sum = doors::sha256_file(part);
      if (sum == file.sha256) return settle(part, folder, file);
      report_sum(url, sum, file);
      reasons += fmt::format("  {}: another sum\n", url);
      fs::remove(part, failed);
    }
  }
  fmt::print(stderr, "error: no mirror gave {} ({} bytes, SHA-256 {})\n{}", file.name, file.bytes, file.sha256,
             reasons);
  return false;
}

bool is_url(const std::string& text) { return text.starts_with("http://") || text.starts_with("https://"); }

/// Gets one file; whether it is there now.
bool get_file(const CatalogEntry& entry, const PublishedFile& file, const DataCommandOptions& options) {
  const fs::path folder = folder_of(entry, options);
  std::string wrong;
  const State state = state_of(folder, file, wrong);
  if (state == State::Right) {
    fmt::print("{}: there\n", (folder / file.name).string());
    return true;
  }
  if (state == State::Wrong) fmt::print("{}: not as it was published; it is replaced\n", wrong);
  std::error_code failed;
  fs::create_directories(folder, failed);
  if (failed) {
    report(fmt::format("cannot make {}: {}", folder.string(), failed.message()));
    return false;
  }
  bool is_there = false;
  if (!options.from.empty() && !is_url(options.from)) {
    is_there = take_from_folder(fs::path(options.from) / file.name, folder, file);
  } else if (options.offline) {
    report(fmt::format("{} is not there, and --offline asks nobody for it", (folder / file.name).string()));
  } else {
    const std::string base = options.from + (options.from.ends_with('/') ? "" : "/");
    is_there = download(options.from.empty() ? file.urls : std::vector<std::string>{base + file.name}, folder, file);
  }
  if (is_there) fmt::print("{}: {}, its sum is right\n", (folder / file.name).string(), size_text(file.bytes));
  return is_there;
}

int get(const std::vector<CatalogEntry>& entries, const DataCommandOptions& options) {
  if (entries.size() > 1 && !options.to.empty()) {
    report("--to is one folder, and there are several names");
    return kUsage;
  }
  bool is_whole = true;
  for (const CatalogEntry& entry : entries) {
    bool is_there = true;
    for (const PublishedFile& file : entry.files) is_there = get_file(entry, file, options) && is_there;
    if (!is_there) {
      fmt::print(stderr, "  = help: bring its files by hand, then: ltrc data get {} --from DIR\n", entry.name);
      for (const PublishedFile& file : entry.files) fmt::print(stderr, "          {}\n", file.urls[0]);
    }
    is_whole = is_whole && is_there;
  }
  return is_whole ? kOk : kErrors;
}

int check(const std::vector<CatalogEntry>& entries, const DataCommandOptions& options, bool is_all) {
  bool is_right = true;
  for (const CatalogEntry& entry : entries) {
    const fs::path folder = folder_of(entry, options);
    std::error_code failed;
    // Of all there are, those that were never fetched are no fault.
    if (is_all && !fs::exists(folder, failed)) continue;
    for (const PublishedFile& file : entry.files) {
      std::string wrong;
      const State state = state_of(folder, file, wrong);
      const std::string place = (folder / file.name).string();
      if (state == State::Right) fmt::print("{}: right\n", place);
      if (state == State::Missing) fmt::print("{}: missing\n", place);
      if (state == State::Wrong) fmt::print("{}: not as it was published\n", wrong);
      is_right = is_right && state == State::Right;
    }
  }
  return is_right ? kOk : kErrors;
}

int list(const std::vector<CatalogEntry>& entries, const DataCommandOptions& options) {
  for (const CatalogEntry& entry : entries) {
    std::error_code failed;
    const fs::path folder = folder_of(entry, options);
    fmt::print("{:18}{:8}{:>10}  {} ({}; {}){}\n", entry.name, entry.kind, size_text(entry.bytes()), entry.what,
               entry.licence, entry.home, fs::exists(folder, failed) ? fmt::format("  in {}", folder.string()) : "");
  }
  return kOk;
}

}  // namespace

int run_data(const DataCommandOptions& options, const Common& common) {
  std::vector<std::string> own;
  Compilation project;
  project.sink = std::make_unique<diagnostics::Sink>(common.max_errors);
  // As if a program stood in the working directory, which is where its data are put.
  own.push_back(read_project("program.ltr", project.sources, *project.sink).catalog);
  if (project.has_errors()) return driver::report(project, common);
  own.push_back(options.catalog);
  std::erase(own, "");
  std::vector<CatalogEntry> known;
  try {
    known = read_catalog(own);
  } catch (const std::exception& error) {
    report(error.what());
    return kUsage;
  }
  std::vector<CatalogEntry> chosen;
  for (const std::string& name : options.names) {
    const auto found =
        std::find_if(known.begin(), known.end(), [&](const CatalogEntry& one) { return one.name == name; });
    if (found != known.end()) {
      chosen.push_back(*found);
      continue;
    }
    std::vector<std::string> names;
    for (const CatalogEntry& one : known) names.push_back(one.name);
    report(fmt::format("`{}` is no name of the catalogue", name));
    if (const auto near = diagnostics::suggest(name, names))
      fmt::print(stderr, "  = help: did you mean `{}`?\n", *near);
    else
      fmt::print(stderr, "  = help: `ltrc data list` shows them\n");
    return kUsage;
  }
  const bool is_all = chosen.empty();
  if (options.verb == "list") return list(is_all ? known : chosen, options);
  if (options.verb == "check") return check(is_all ? known : chosen, options, is_all);
  if (!is_all) return get(chosen, options);
  report("`ltrc data get` needs a name");
  fmt::print(stderr, "  = help: `ltrc data list` shows them\n");
  return kUsage;
}

}  // namespace ltr::driver
