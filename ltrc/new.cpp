#include <fmt/core.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <optional>
#include <span>

#include "dsl/diagnostics/suggest.h"
#include "dsl/source/embedded.h"
#include "ltrc/commands.h"
#include "ltrc/exit_code.h"
#include "ltrc/starter_data.h"

namespace ltr::driver {

/// Starter programs, `classifier/NAME.ltr` and `tasks/forecaster/NAME.ltr`, and the data that they read, `data/iris.csv`.
extern const std::span<const source::EmbeddedFile> starter_files;

namespace {

constexpr std::string_view kProgram = "/NAME.ltr";
constexpr std::string_view kTasks = "tasks/";
constexpr std::string_view kPath = ": path = \"";

/// What a starter is for: its first comment, up to the colon.
std::string_view purpose_of(std::string_view text) {
  const size_t begin = text.find("# ") + 2;
  return text.substr(begin, text.find(':', begin) - begin);
}

/// The starters that are no tasks, or the tasks of std.tasks, and their texts.
std::map<std::string, std::string_view> programs_of(bool are_tasks) {
  std::map<std::string, std::string_view> programs;
  for (const source::EmbeddedFile& file : starter_files) {
    std::string_view name = file.name;
    if (!name.ends_with(kProgram) || name.starts_with(kTasks) != are_tasks) continue;
    name.remove_suffix(kProgram.size());
    if (are_tasks) name.remove_prefix(kTasks.size());
    programs.emplace(name, file.text);
  }
  return programs;
}

void print_list() {
  for (const auto& [name, text] : programs_of(false)) fmt::print("{:<20}{}\n", name, purpose_of(text));
  fmt::print("\nwith a model of std.tasks, by --task:\n");
  for (const auto& [name, text] : programs_of(true)) fmt::print("{:<20}{}\n", name, purpose_of(text));
}

/// The text of the starter or task that was asked for; what is wrong was said if there is none.
std::optional<std::string> program_of(const NewOptions& options) {
  const bool is_task = !options.task.empty();
  std::string wanted = is_task ? options.task : options.from.empty() ? "classifier" : options.from;
  // As on other command lines: image-classifier.
  if (is_task) std::replace(wanted.begin(), wanted.end(), '-', '_');
  const auto programs = programs_of(is_task);
  if (const auto found = programs.find(wanted); found != programs.end()) return std::string(found->second);
  std::vector<std::string> names;
  for (const auto& [name, text] : programs) names.push_back(name);
  const auto near = diagnostics::suggest(wanted, names);
  fmt::print(stderr, "error: there is no {} `{}`\n  = help: {}\n", is_task ? "task" : "starter", wanted,
             near ? "did you mean `" + *near + "`?" : "`ltrc new --list` names them");
  return std::nullopt;
}

/// The task that fits what stands at `data`; if none does, why was said.
std::optional<std::string> task_for(const std::string& data) {
  const auto programs = programs_of(true);
  std::string reasons;
  for (const std::string& task : likely_tasks(data)) {
    const StarterFit fit = fit_to_data(std::string(programs.at(task)), task, data, data);
    if (fit.error.empty()) return task;
    reasons += fmt::format("  {}: {}\n", task, fit.error);
    if (!fit.help.empty()) reasons += fmt::format("    = help: {}\n", fit.help);
  }
  fmt::print(
      stderr,
      "error: no task fits `{}`; nothing was written\n{}  = help: `ltrc new --list` names all tasks; --task says "
      "which is meant\n",
      data, reasons);
  return std::nullopt;
}

/// Where the data of a starter are.
std::string path_in(const std::string& text) {
  const size_t begin = text.find(kPath) + kPath.size();
  return text.substr(begin, text.find('"', begin) - begin);
}

void put_name(std::string& text, const std::string& stem) {
  for (size_t found = text.find("NAME"); found != std::string::npos; found = text.find("NAME", found + stem.size()))
    text.replace(found, 4, stem);
}

/// The path as a program in `folder` reads it, which looks beside itself.
std::string beside(const std::filesystem::path& folder, const std::string& data) {
  const std::filesystem::path path = std::filesystem::absolute(data).lexically_normal();
  return path.lexically_proximate(std::filesystem::absolute(folder.empty() ? "." : folder).lexically_normal())
      .generic_string();
}

std::string content_at(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

/// The program named `stem` and, if it reads no others, the data that come with it.
std::vector<std::pair<std::filesystem::path, std::string>> files_of(std::string text, const NewOptions& options,
                                                                    const std::filesystem::path& folder,
                                                                    const std::string& stem) {
  const std::string data = path_in(text);
  std::vector<std::pair<std::filesystem::path, std::string>> files = {{folder / (stem + ".ltr"), std::move(text)}};
  for (const source::EmbeddedFile& file : starter_files) {
    if (options.data.empty() && (file.name == data || file.name.starts_with(data + "/")))
      files.emplace_back(folder / file.name, file.text);
  }
  return files;
}

}  // namespace

int run_new(const NewOptions& asked) {
  namespace fs = std::filesystem;
  NewOptions options = asked;
  if (options.list) {
    print_list();
    return kOk;
  }
  const std::string& name = options.name;
  if (name.empty()) {
    fmt::print(stderr, "error: ltrc new needs a name\n  = help: `ltrc new my_first` writes my_first.ltr\n");
    return kUsage;
  }
  if (!options.data.empty() && !fs::exists(options.data)) {
    fmt::print(stderr, "error: there is no file or folder `{}`\n", options.data);
    return kUsage;
  }
  const bool is_picked = !options.data.empty() && options.task.empty() && options.from.empty();
  if (is_picked) {
    const std::optional<std::string> task = task_for(options.data);
    if (!task) return kErrors;
    options.task = *task;
  }
  std::optional<std::string> program = program_of(options);
  if (!program) return kUsage;
  std::string stem = fs::path(name).filename().string();
  if (stem.ends_with(".ltr")) stem.resize(stem.size() - 4);
  const bool is_name =
      !stem.empty() && std::isdigit(static_cast<unsigned char>(stem[0])) == 0 &&
      stem.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_") == std::string::npos;
  if (!is_name) {
    fmt::print(stderr, "error: `{}` cannot name a program: letters, digits and _, not beginning with a digit\n", stem);
    return kUsage;
  }
  const fs::path folder = fs::path(name).parent_path();
  put_name(*program, stem);
  std::string found;
  if (!options.data.empty()) {
    std::string task = options.task;
    std::replace(task.begin(), task.end(), '-', '_');
    StarterFit fit = fit_to_data(std::move(*program), task, options.data, beside(folder, options.data));
    if (!fit.error.empty()) {
      fmt::print(stderr, "error: {}; nothing was written\n", fit.error);
      if (!fit.help.empty()) fmt::print(stderr, "  = help: {}\n", fit.help);
      return kErrors;
    }
    program = std::move(fit.text);
    found = fit.found;
  }
  const auto files = files_of(std::move(*program), options, folder, stem);
  std::error_code error;
  for (const auto& [path, text] : files) {
    // The same data may serve several programs of a folder.
    if (!fs::exists(path, error) || (path.extension() != ".ltr" && content_at(path) == text)) continue;
    fmt::print(stderr, "error: {} is there already, and nothing was written\n", path.string());
    return kErrors;
  }
  if (!found.empty()) fmt::print("found {}\n", found);
  if (is_picked) fmt::print("took the task {}; --task names another, `ltrc new --list` all\n", options.task);
  const size_t kShown = 8;
  for (const auto& [path, text] : files) {
    if (!path.parent_path().empty()) fs::create_directories(path.parent_path(), error);
    std::ofstream file(path, std::ios::binary);
    file << text;
    if (!file.flush()) {
      fmt::print(stderr, "error: cannot write {}\n", path.string());
      return kErrors;
    }
    if (files.size() <= kShown || path.extension() == ".ltr") fmt::print("wrote {}\n", path.string());
  }
  if (files.size() > kShown) fmt::print("wrote {} files of data to {}\n", files.size() - 1, (folder / "data").string());
  fmt::print("try   ltrc run {}.ltr fit\n", (folder / stem).string());
  return kOk;
}

}  // namespace ltr::driver
