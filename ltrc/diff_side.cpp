#include "ltrc/diff_side.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "ltrc/exit_code.h"

namespace ltr::driver {

namespace fs = std::filesystem;

namespace {

struct Output {
  int status = 0;
  std::string text;
};

/// Runs git without a shell; its complaints go nowhere, ours are better.
Output run_git(const fs::path& folder, const std::vector<std::string>& words) {
  std::array<int, 2> ends{};
  if (pipe(ends.data()) != 0) return {1, ""};
  const pid_t child = fork();
  if (child < 0) return {1, ""};
  if (child == 0) {
    dup2(ends[1], 1);
    const int nothing = open("/dev/null", O_WRONLY);
    if (nothing >= 0) dup2(nothing, 2);
    close(ends[0]);
    close(ends[1]);
    if (!folder.empty() && chdir(folder.c_str()) != 0) _exit(127);
    std::vector<std::string> copies = {"git"};
    copies.insert(copies.end(), words.begin(), words.end());
    std::vector<char*> arguments;
    for (std::string& word : copies) arguments.push_back(word.data());
    arguments.push_back(nullptr);
    execvp("git", arguments.data());
    _exit(127);
  }
  close(ends[1]);
  Output output;
  std::array<char, 65'536> buffer{};
  for (;;) {
    const ssize_t count = read(ends[0], buffer.data(), buffer.size());
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) break;
    output.text.append(buffer.data(), size_t(count));
  }
  close(ends[0]);
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  output.status = WIFEXITED(status) ? WEXITSTATUS(status) : 1;
  return output;
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) {
    if (!line.empty()) lines.push_back(line);
  }
  return lines;
}

bool write_text(const fs::path& path, const std::string& text) {
  std::error_code error;
  fs::create_directories(path.parent_path(), error);
  std::ofstream file(path, std::ios::binary);
  file << text;
  return bool(file.flush());
}

/// All programs of a revision, as a file imports others, below the side's own folder.
bool locate_revision(const std::string& file, const std::string& revision, Side& side) {
  const fs::path folder = fs::path(file).has_parent_path() ? fs::path(file).parent_path() : ".";
  std::error_code error;
  // A file that is gone today may lie in a folder that is gone too.
  fs::path inside = folder;
  while (!inside.empty() && !fs::is_directory(inside, error)) inside = inside.parent_path();
  if (inside.empty()) inside = ".";
  const Output prefix = run_git(inside, {"rev-parse", "--show-prefix"});
  if (prefix.status != 0) {
    fmt::print(stderr, "error: {} is in no git repository\n", file);
    return false;
  }
  if (run_git(inside, {"rev-parse", "--verify", "--quiet", revision + "^{commit}"}).status != 0) {
    fmt::print(stderr, "error: git knows no revision `{}`\n", revision);
    return false;
  }
  std::string top = prefix.text;
  while (top.ends_with("\n")) top.pop_back();
  const fs::path below = fs::path(file).lexically_proximate(inside);
  const fs::path wanted = (fs::path(top) / below).lexically_normal();
  const Output listed = run_git(inside, {"ls-tree", "-r", "--name-only", "--full-tree", revision});
  side.scratch = std::make_unique<ScratchFolder>();
  bool is_found = false;
  for (const std::string& name : lines_of(listed.text)) {
    if (!name.ends_with(".ltr")) continue;
    const Output text = run_git(inside, {"show", revision + ":" + name});
    if (text.status != 0 || !write_text(side.scratch->path() / name, text.text)) return false;
    is_found = is_found || name == wanted.string();
  }
  side.file = (side.scratch->path() / wanted).string();
  if (!is_found) fmt::print(stderr, "error: {} is not in revision {}\n", wanted.string(), revision);
  return is_found;
}

bool locate_run(const fs::path& folder, Side& side) {
  std::ifstream record(folder / "run.json"), config(folder / "config.json");
  const auto run = nlohmann::json::parse(record, nullptr, false);
  const auto settings = nlohmann::json::parse(config, nullptr, false);
  if (!run.is_object() || !run.contains("source") || !run["source"].contains("files") ||
      run["source"]["files"].empty()) {
    fmt::print(stderr, "error: {} does not say which program ran\n", (folder / "run.json").string());
    return false;
  }
  // The program comes first; its copy is named as the run named it.
  const fs::path path = run["source"]["files"][0].value("path", "");
  std::string name = path.lexically_normal().relative_path().string();
  if (path.is_absolute() || name.starts_with("..")) name = path.filename().string();
  side.file = (folder / "source" / name).string();
  side.experiment = run.value("experiment", "");
  if (settings.is_object()) {
    for (const auto& [key, entry] : settings.items()) {
      if (!entry.is_object() || !entry.contains("value")) continue;
      const std::string from = entry.value("from", "");
      if (from != "default" && from != "experiment") side.settings[key] = entry["value"].dump();
    }
  }
  return true;
}

}  // namespace

ScratchFolder::ScratchFolder() {
  std::string name = (fs::temp_directory_path() / "ltrc-XXXXXX").string();
  if (mkdtemp(name.data()) != nullptr) path_ = name;
}

ScratchFolder::~ScratchFolder() {
  std::error_code error;
  if (!path_.empty()) fs::remove_all(path_, error);
}

bool locate(const std::string& given, Side& side) {
  side.name = given;
  std::error_code error;
  if (fs::is_directory(given, error)) {
    if (fs::exists(fs::path(given) / "run.json", error)) return locate_run(given, side);
    fmt::print(stderr, "error: {} is a folder without run.json, so no run\n", given);
    return false;
  }
  const size_t at = given.rfind('@');
  if (at != std::string::npos && !fs::exists(given, error))
    return locate_revision(given.substr(0, at), given.substr(at + 1), side);
  side.file = given;
  return true;
}

bool read_forms(Side& side, const Common& common) {
  analyze(side.file, common, side.compilation);
  // Warnings are not what is asked.
  if (side.compilation.has_errors() || !side.compilation.program) {
    report(side.compilation, common);
    return false;
  }
  side.forms = canonical_forms(to_ir(side.compilation, "", nullptr));
  if (side.experiment.empty()) return true;
  std::erase_if(side.forms, [&](const Canonical& form) { return form.experiment != side.experiment; });
  const auto put = [](Canonical::Entries& entries, const std::string& key, const std::string& value) {
    for (auto& [name, text] : entries) {
      if (name != key) continue;
      // The rule behind the value stays.
      const size_t rule = text.find(" where ");
      text = value + (rule == std::string::npos ? "" : text.substr(rule));
      return;
    }
    entries.emplace_back(key, value);
  };
  for (Canonical& form : side.forms) {
    for (const auto& [key, value] : side.settings) {
      const std::string name = key.substr(key.find('.') + 1);
      if (key.find('.') == std::string::npos) {
        put(form.hparams, key, value);
      } else if (key.starts_with("trainer.")) {
        put(form.trainer, name, value);
      } else if (key.starts_with("topology.")) {
        put(form.topology, name, value);
      } else if (key.starts_with("callbacks.")) {
        put(form.callbacks, "set " + name, value);
      } else if (key.starts_with("loggers.")) {
        put(form.loggers, "set " + name, value);
      } else if (key.starts_with("data.")) {
        put(form.data, "set " + name, value);
      } else if (key.starts_with("model.")) {
        put(form.model, "set " + name, value);
      }
    }
    std::sort(form.trainer.begin(), form.trainer.end());
    std::sort(form.topology.begin(), form.topology.end());
  }
  return true;
}

std::optional<std::vector<ChangedFile>> changed_files(const std::string& base, const std::string& head) {
  for (const std::string& revision : {base, head}) {
    if (run_git("", {"rev-parse", "--verify", "--quiet", revision + "^{commit}"}).status == 0) continue;
    fmt::print(stderr, "error: git knows no revision `{}`\n", revision);
    return std::nullopt;
  }
  const Output output = run_git("", {"diff", "--name-status", "--relative", "--no-renames", base, head, "--", "*.ltr"});
  std::vector<ChangedFile> files;
  for (const std::string& line : lines_of(output.text)) files.push_back({line[0], line.substr(line.find('\t') + 1)});
  return files;
}

}  // namespace ltr::driver
