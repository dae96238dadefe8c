#include <fmt/core.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <span>

#include "dsl/diagnostics/suggest.h"
#include "dsl/source/embedded.h"
#include "ltrc/commands.h"
#include "ltrc/exit_code.h"

namespace ltr::driver {

/// Starter programs: `classifier/NAME.ltr` and the data that it reads.
extern const std::span<const source::EmbeddedFile> starter_files;

namespace {

/// What a starter is for: its first comment, up to the colon.
std::string_view purpose_of(std::string_view text) {
  const size_t begin = text.find("# ") + 2;
  return text.substr(begin, text.find(':', begin) - begin);
}

std::string content_at(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace

int run_new(const std::string& name, const std::string& from, bool list) {
  namespace fs = std::filesystem;
  std::vector<std::string> starters;
  for (const source::EmbeddedFile& file : starter_files) {
    const size_t slash = file.name.find('/');
    if (!file.name.substr(slash).ends_with("NAME.ltr")) continue;
    starters.emplace_back(file.name.substr(0, slash));
    if (list) fmt::print("{:<12}{}\n", starters.back(), purpose_of(file.text));
  }
  if (list) return kOk;
  if (name.empty()) {
    fmt::print(stderr, "error: ltrc new needs a name\n  = help: `ltrc new my_first` writes my_first.ltr\n");
    return kUsage;
  }
  if (std::find(starters.begin(), starters.end(), from) == starters.end()) {
    fmt::print(stderr, "error: there is no starter `{}`\n", from);
    const auto near = diagnostics::suggest(from, starters);
    fmt::print(stderr, "  = help: {}\n", near ? "did you mean `" + *near + "`?" : "`ltrc new --list` names them");
    return kUsage;
  }
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
  const std::string prefix = from + "/";
  std::vector<std::pair<fs::path, std::string>> files;
  for (const source::EmbeddedFile& file : starter_files) {
    if (!file.name.starts_with(prefix)) continue;
    std::string path(file.name.substr(prefix.size()));
    std::string text(file.text);
    if (const size_t at = path.find("NAME.ltr"); at != std::string::npos) {
      path.replace(at, 4, stem);
      for (size_t found = text.find("NAME"); found != std::string::npos; found = text.find("NAME", found + stem.size()))
        text.replace(found, 4, stem);
    }
    files.emplace_back(folder / path, std::move(text));
  }
  std::error_code error;
  for (const auto& [path, text] : files) {
    // The same data may serve several programs of a folder.
    if (!fs::exists(path, error) || (path.extension() != ".ltr" && content_at(path) == text)) continue;
    fmt::print(stderr, "error: {} is there already, and nothing was written\n", path.string());
    return kErrors;
  }
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
