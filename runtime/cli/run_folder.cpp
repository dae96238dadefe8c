#include "runtime/cli/run_folder.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>
#include <algorithm>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <fstream>

#include <nlohmann/json.hpp>

#include "doors/file.h"
#include "doors/hash.h"
#include "runtime/api/error.h"
#include "runtime/checkpoint/folder.h"
#include "runtime/cli/git.h"
#include "runtime/cli/secrets.h"
#include "runtime/cli/version.h"
#include "runtime/data/paths.h"
#include "runtime/tensor/device.h"

namespace ltr::cli {

namespace {

namespace fs = std::filesystem;
using OrderedJson = nlohmann::ordered_json;

/// Number of a run folder, -1 if the name begins with none.
int64_t number_of(const Str& folder) {
  size_t digits = 0;
  while (digits < folder.size() && std::isdigit(static_cast<unsigned char>(folder[digits])) != 0) ++digits;
  if (digits < 4 || digits > 9 || (digits < folder.size() && folder[digits] != '-')) return -1;
  return std::stoll(folder.substr(0, digits));
}

Str name_of(const Str& folder) {
  const size_t dash = folder.find('-');
  return dash == Str::npos ? "" : folder.substr(dash + 1);
}

/// Folders of runs below `parent`, oldest first.
std::vector<Str> runs_in(const Str& parent) {
  std::vector<std::pair<int64_t, Str>> found;
  std::error_code failed;
  for (const fs::directory_entry& entry : fs::directory_iterator(parent, failed)) {
    const Str name = entry.path().filename().string();
    const int64_t number = number_of(name);
    if (number >= 0 && !entry.is_symlink(failed) && entry.is_directory(failed))
      found.emplace_back(number, entry.path().string());
  }
  std::sort(found.begin(), found.end());
  std::vector<Str> paths;
  for (auto& [number, path] : found) paths.push_back(std::move(path));
  return paths;
}

void point_latest(const Str& parent, const Str& folder) {
  const Str link = parent + "/latest";
  const Str temporary = link + ".tmp-" + std::to_string(::getpid());
  ::unlink(temporary.c_str());
  // Where links are impossible, nobody misses this one.
  if (::symlink(folder.c_str(), temporary.c_str()) == 0) ::rename(temporary.c_str(), link.c_str());
}

/// The process that a lock file names.
Str holder_in(int file) {
  char holder[32] = "";
  if (::pread(file, holder, sizeof holder - 1, 0) <= 0) return "unknown";
  const Str text = holder;
  return text.substr(0, text.find('\n'));
}

/// What git says about the program, asked once.
const Option<GitFacts>& git_facts(const Program& program) {
  static const Option<GitFacts> kFacts = [&] {
    const fs::path source = program.sources.empty() ? fs::path(".") : fs::path(program.sources[0].path).parent_path();
    return read_git(source.empty() ? "." : source.string());
  }();
  return kFacts;
}

OrderedJson or_null(const Str& text) { return text.empty() ? OrderedJson(nullptr) : OrderedJson(text); }

}  // namespace

RunFolder::RunFolder(Str path) : path_(std::move(path)) {}

RunFolder::RunFolder(RunFolder&& other) noexcept
    : path_(std::move(other.path_)), lock_(std::exchange(other.lock_, -1)), around_(std::move(other.around_)) {}

RunFolder::~RunFolder() {
  if (lock_ >= 0) ::close(lock_);
}

Str RunFolder::folder_name() const { return fs::path(path_).filename().string(); }

void RunFolder::discard() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
  const Str parent = fs::path(path_).parent_path().string();
  const std::vector<Str> runs = runs_in(parent);
  if (!runs.empty()) return point_latest(parent, fs::path(runs.back()).filename().string());
  fs::remove(parent + "/latest", ignored);
  around_.take_back();
}

RunFolder RunFolder::create(const Str& out, const Str& experiment, const Str& name) {
  const Str parent = out + "/" + experiment;
  doors::MadeFolders around;
  const auto make_parent = [&] {
    try {
      around.make(parent);
    } catch (const std::system_error& error) {
      throw error_at({}, err::cannot_write, parent, error.code().message());
    }
  };
  make_parent();
  const std::vector<Str> runs = runs_in(parent);
  int64_t number = runs.empty() ? 1 : number_of(fs::path(runs.back()).filename().string()) + 1;
  while (true) {
    const Str folder = fmt::format("{:04}{}{}", number, name.empty() ? "" : "-", name);
    // Folders of one number and different names must not both be taken: the number alone decides.
    const Str claim = parent + fmt::format("/.{:04}", number);
    if (::mkdir(claim.c_str(), 0777) == 0) {
      const std::vector<Str> others = runs_in(parent);
      const bool is_taken = std::any_of(others.begin(), others.end(), [&](const Str& other) {
        return number_of(fs::path(other).filename().string()) == number;
      });
      const bool is_new = !is_taken && ::mkdir((parent + "/" + folder).c_str(), 0777) == 0;
      const int reason = is_taken ? EEXIST : errno;
      if (is_new) {
        RunFolder run(parent + "/" + folder);
        run.around_ = std::move(around);
        run.lock();
        ::rmdir(claim.c_str());
        point_latest(parent, folder);
        return run;
      }
      ::rmdir(claim.c_str());
      if (reason != EEXIST) throw error_at({}, err::cannot_write, parent + "/" + folder, std::strerror(reason));
    } else if (errno == ENOENT) {
      make_parent();  // another run, which was refused, has taken it back
      continue;
    } else if (errno != EEXIST) {
      throw error_at({}, err::cannot_write, claim, std::strerror(errno));
    }
    ++number;
    // Whoever was faster may have removed the claim already.
    for (const Str& other : runs_in(parent)) {
      number = std::max(number, number_of(fs::path(other).filename().string()) + 1);
    }
  }
}

RunFolder RunFolder::hold(const Str& path) {
  RunFolder run(path);
  run.lock();
  return run;
}

RunFolder RunFolder::reopen(const Str& path) {
  RunFolder run = hold(path);
  // What a writer that was killed had not put in place yet.
  std::error_code failed;
  std::vector<fs::path> gone;
  // Files alone: what a killed save left of a checkpoint is a folder, and its own to put right.
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(path, failed)) {
    const bool is_left = entry.path().filename().string().find(".tmp-") != Str::npos;
    if (is_left && !entry.is_directory(failed)) gone.push_back(entry.path());
  }
  for (const fs::path& leftover : gone) fs::remove(leftover, failed);
  return run;
}

bool RunFolder::is_there() const {
  struct stat held{}, found{};
  return ::fstat(lock_, &held) == 0 && ::stat((path_ + "/lock").c_str(), &found) == 0 && held.st_ino == found.st_ino &&
         held.st_dev == found.st_dev;
}

void RunFolder::lock() {
  const Str path = path_ + "/lock";
  lock_ = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
  if (lock_ < 0) throw error_at({}, err::cannot_write, path, std::strerror(errno));
  if (::flock(lock_, LOCK_EX | LOCK_NB) != 0) {
    throw with_help(error_at({}, err::run_in_use, path_, holder_in(lock_)),
                    "wait for it, or begin another run with --resume none");
  }
  const Str text = std::to_string(::getpid()) + "\n";
  if (::ftruncate(lock_, 0) != 0 || ::pwrite(lock_, text.data(), text.size(), 0) < 0) {
    throw error_at({}, err::cannot_write, path, std::strerror(errno));
  }
}

Str find_run(const Str& out, const Str& experiment, const Str& name, const Str& which) {
  std::error_code failed;
  const std::vector<Str> runs = runs_in(out + "/" + experiment);
  if (which.empty()) {
    for (auto run = runs.rbegin(); run != runs.rend(); ++run) {
      if (name.empty() || name_of(fs::path(*run).filename().string()) == name) return *run;
    }
    return "";
  }
  if (fs::is_directory(which, failed) && fs::exists(which + "/run.json", failed)) return which;
  const size_t first = std::min(which.find_first_not_of('0'), which.size() - 1);
  const bool is_number = which.find_first_not_of("0123456789") == Str::npos;
  for (auto run = runs.rbegin(); run != runs.rend(); ++run) {
    const Str folder = fs::path(*run).filename().string();
    // As texts: a number may be larger than any type.
    if (is_number && std::to_string(number_of(folder)) == which.substr(first)) return *run;
    if (folder == which || name_of(folder) == which) return *run;
  }
  return "";
}

Str runs_meant(const Str& experiment, const Str& name) {
  return name.empty() ? experiment : fmt::format("{} with the --name {}", experiment, name);
}

Error no_checkpoint(const Str& run, const Str& which, const Str& out, const Str& experiment, const Str& name) {
  if (which == "best" && !checkpoint_names(run + "/checkpoints").empty()) {
    return with_help(error_at({}, err::checkpoint_misfit, run + " has no best checkpoint"),
                     "a `Checkpoint(monitor = …)` makes one; its newest is `last`");
  }
  Error error = error_at({}, err::checkpoint_misfit, run + " has no checkpoint");
  const std::vector<Str> runs = runs_in(out + "/" + experiment);
  for (auto other = runs.rbegin(); other != runs.rend(); ++other) {
    const Str folder = fs::path(*other).filename().string();
    const bool is_asked_for = name.empty() || name_of(folder) == name;
    if (is_asked_for && !checkpoint_names(*other + "/checkpoints").empty())
      return with_help(std::move(error),
                       fmt::format("the newest run with one is {}: --run {}", *other, number_of(folder)));
  }
  return error;
}

Str find_unfinished_run(const Str& out, const Str& experiment, const Str& name) {
  const std::vector<Str> runs = runs_in(out + "/" + experiment);
  for (auto run = runs.rbegin(); run != runs.rend(); ++run) {
    std::error_code failed;
    if (name_of(fs::path(*run).filename().string()) == name && !fs::exists(*run + "/DONE", failed)) return *run;
  }
  return "";
}

namespace {

/// `wanted`, new or empty, or the first of `wanted-2`, `wanted-3` and so on that is: runs of other folders have numbers of their own, and
/// what a run left that is gone is no checkpoint of this one.
fs::path free_folder(const fs::path& wanted) {
  fs::create_directories(wanted.parent_path());
  for (int number = 1;; ++number) {
    const fs::path folder = number == 1 ? wanted : fs::path(fmt::format("{}-{}", wanted.string(), number));
    if (fs::create_directory(folder) || fs::is_empty(folder)) return folder;
  }
}

}  // namespace

void link_checkpoints(const Str& run, const Str& experiment, const std::vector<Value>& callbacks) {
  constexpr char kUsual[] = "checkpoints";
  Str wanted = kUsual;
  Location location;
  bool is_first = true;
  for (const Value& call : callbacks) {
    if (call.text != "Checkpoint") continue;
    const Value* dir = call.find("dir");
    const Str one = dir != nullptr && !dir->is_none() ? dir->as_str() : kUsual;
    if (!std::exchange(is_first, false) && one != wanted)
      throw error_at(call.location, err::settings_contradict, "two Checkpoint callbacks write into two folders");
    wanted = one;
    location = call.location;
  }
  const fs::path path = fs::path(wanted).lexically_normal();
  std::error_code failed;
  if (wanted == kUsual || fs::exists(fs::symlink_status(run + "/" + kUsual, failed))) return;
  if (!path.is_absolute() && (path.empty() || *path.begin() == ".." || path == "."))
    throw error_at(location, err::settings_contradict,
                   fmt::format("Checkpoint(dir = \"{}\") leaves the run folder", wanted));
  fs::path target = path.is_absolute() ? path / experiment / fs::path(run).filename() : fs::path(run) / path;
  try {
    if (path.is_absolute()) target = free_folder(target);
    fs::create_directories(target);
    fs::create_symlink(path.is_absolute() ? target : path, run + "/" + kUsual);
    if (!fs::exists(target / "run")) fs::create_symlink(fs::absolute(run), target / "run");
  } catch (const fs::filesystem_error& error) {
    throw error_at(location, err::cannot_write, target.string(), error.code().message());
  }
}

Str run_of_checkpoint(const Str& checkpoint) {
  const fs::path folder = fs::path(checkpoint).parent_path();
  std::error_code failed;
  const fs::path linked = fs::read_symlink(folder / "run", failed);
  const Str run = failed ? folder.parent_path().string() : linked.string();
  return run.empty() ? "." : run;
}

Str time_text() {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  ::gmtime_r(&now, &parts);
  char text[32];
  std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &parts);
  return text;
}

void write_run_file(const Str& path, const Str& text) {
  try {
    doors::write_file_atomically(path, text);
  } catch (const std::system_error& error) {
    throw error_at({}, err::cannot_write, path, error.code().message());
  }
}

std::vector<Str> hosts_of(const std::vector<Str>& ranks) {
  std::vector<Str> hosts;
  for (const Str& host : ranks) {
    if (std::ranges::find(hosts, host) == hosts.end()) hosts.push_back(host);
  }
  return hosts;
}

Str host_name() {
  utsname host{};
  ::uname(&host);
  return host.nodename;
}

Str run_record_text(const RunRecord& record, const Program& program) {
  const Option<GitFacts>& git = git_facts(program);
  OrderedJson json;
  json["ltr"] = 1;
  json["experiment"] = record.experiment;
  json["run"] = record.run;
  json["status"] = record.status;
  json["started"] = record.started;
  json["heartbeat"] = time_text();
  json["ended"] = or_null(record.ended);
  json["exit_code"] = record.exit_code < 0 ? OrderedJson(nullptr) : OrderedJson(record.exit_code);
  json["reason"] = or_null(record.reason);
  OrderedJson files = OrderedJson::array();
  for (const SourceFile& source : program.sources) {
    files.push_back({{"path", source.path}, {"sha256", doors::sha256_hex(source.text)}});
  }
  json["source"] = {{"sha256", program.source_hash}, {"files", files}};
  json["git"] = nullptr;
  if (git) {
    json["git"] = {{"commit", or_null(git->commit)},
                   {"branch", or_null(git->branch)},
                   {"dirty", git->is_dirty},
                   {"remote", or_null(git->remote)}};
  }
  json["toolchain"] = {{"ltrc", program.compiler},
                       {"libtorch", libtorch_version()},
                       {"compiler", compiler_version()},
                       {"cuda", nullptr},
                       {"cudnn", nullptr},
                       {"nccl", nullptr}};
  if (accelerator() != nullptr) {
    for (const auto& [name, version] : accelerator()->libraries()) json["toolchain"][name] = version;
  }
  json["topology"] = {{"name", or_null(record.topology)},
                      {"devices", {compute_device_name()}},
                      {"nodes", record.hosts.size()},
                      {"precision", record.precision},
                      {"threads", record.threads}};
  json["world"] = record.world;
  json["hosts"] = record.hosts;
  json["job"] = nullptr;
  json["seed"] = record.seed;
  json["data"] = OrderedJson::array();
  for (const RunRecord::DataStream& stream : record.data) {
    json["data"].push_back({{"role", stream.role}, {"records", stream.records}, {"batches", stream.batches}});
  }
  json["data_files"] = OrderedJson::array();
  for (const OpenedFile& file : opened_files()) {
    json["data_files"].push_back({{"path", file.path}, {"bytes", file.bytes}, {"sha256_sampled", file.fingerprint}});
  }
  json["command"] = record.command;
  json["parent"] = nullptr;
  json["best"] = nullptr;
  if (!record.best_metric.empty()) {
    json["best"] = {
        {"metric", record.best_metric}, {"value", record.best_value}, {"checkpoint", record.best_checkpoint}};
  }
  return json.dump(2, ' ', false, OrderedJson::error_handler_t::replace) + "\n";
}

void record_loss(const Str& run, const Error& error) {
  const Str path = run + "/run.json";
  std::ifstream file(path, std::ios::binary);
  OrderedJson json = OrderedJson::parse(file, nullptr, false);
  if (!json.is_object()) return;
  const Str status = json.value("status", "");
  if (status != "running" && status != "failed") return;
  json["status"] = "failed";
  if (json["ended"].is_null()) json["ended"] = time_text();
  json["exit_code"] = error.exit_code();
  json["reason"] = error.code + ": " + error.message;
  write_run_file(path, json.dump(2, ' ', false, OrderedJson::error_handler_t::replace) + "\n");
}

void write_sources(const Str& path, const Program& program) {
  std::error_code failed;
  for (const SourceFile& source : program.sources) {
    Str name = fs::path(source.path).lexically_normal().relative_path().string();
    if (fs::path(source.path).is_absolute() || name.starts_with("..")) name = fs::path(source.path).filename().string();
    const fs::path target = fs::path(path) / "source" / name;
    fs::create_directories(target.parent_path(), failed);
    write_run_file(target.string(), source.text);
  }
  const Option<GitFacts>& git = git_facts(program);
  if (!git || git->diff.empty()) return;
  fs::create_directories(path + "/source", failed);
  write_run_file(path + "/source/uncommitted.diff", redacted(git->diff));
}

Str next_numbered(const Str& folder, const Str& stem, const Str& ending) {
  std::error_code failed;
  fs::create_directories(folder, failed);
  if (failed) throw error_at({}, err::cannot_write, folder, failed.message());
  for (int number = 1;; ++number) {
    const Str path = fmt::format("{}/{}{:04}{}", folder, stem, number, ending);
    if (!fs::exists(path, failed)) return path;
  }
}

}  // namespace ltr::cli
