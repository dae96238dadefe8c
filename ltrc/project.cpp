#include "ltrc/project.h"

#include <toml++/toml.h>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "dsl/diagnostics/diagnostic.h"

namespace ltr::driver {

namespace {

namespace fs = std::filesystem;

/// The nearest `ltr.toml`, as seen from the working directory; "" if there is none.
fs::path find_project(const std::string& file) {
  std::error_code failed;
  const fs::path start = fs::absolute(file, failed).lexically_normal().parent_path();
  if (failed) return {};
  for (fs::path folder = start;; folder = folder.parent_path()) {
    if (fs::is_regular_file(folder / "ltr.toml", failed)) {
      const fs::path near = fs::path(file).parent_path() / folder.lexically_relative(start) / "ltr.toml";
      return near.lexically_normal();
    }
    if (folder == folder.parent_path()) return {};
  }
}

/// Reads one project file.
struct Reader {
  source::SourceManager& sources;
  diagnostics::Sink& sink;
  source::SourceId id;
  fs::path folder;

  source::Span span(const toml::source_region& region) const {
    const std::string_view text = sources.text(id);
    const auto offset = [&](const toml::source_position& at) {
      size_t begin = 0;
      for (toml::source_index line = 1; line < at.line; ++line) {
        const size_t end = text.find('\n', begin);
        if (end == std::string_view::npos) break;
        begin = end + 1;
      }
      return uint32_t(std::min(begin + (at.column > 0 ? at.column - 1 : 0), text.size()));
    };
    return {id, offset(region.begin), std::max(offset(region.end), offset(region.begin))};
  }

  void refuse(const toml::source_region& region, const std::string& what) const {
    sink.report(diag::wrong_project(span(region), what)
                    .help("what it may say: `paths = [\"FOLDER\", …]`, and below `[data]` `catalog = \"FILE\"`"));
  }

  std::vector<std::string> folders(const toml::node& value) const {
    std::vector<std::string> found;
    const toml::array* paths = value.as_array();
    if (paths == nullptr) {
      refuse(value.source(), "`paths` is a list of folders");
      return found;
    }
    for (const toml::node& path : *paths) {
      const auto text = path.value<std::string>();
      std::error_code failed;
      if (!path.is_string()) {
        refuse(path.source(), "`paths` is a list of folders");
      } else if (!fs::is_directory(folder / *text, failed)) {
        refuse(path.source(), "there is no folder " + (folder / *text).lexically_normal().string());
      } else {
        found.push_back((folder / *text).lexically_normal().string());
      }
    }
    return found;
  }

  std::string catalog(const toml::node& value) const {
    const toml::table* data = value.as_table();
    if (data == nullptr) refuse(value.source(), "`data` is a table: `[data]` on a line of its own");
    if (data == nullptr) return "";
    std::string found;
    for (const auto& [key, entry] : *data) {
      std::error_code failed;
      if (key.str() != "catalog") {
        refuse(key.source(), "there is no key `" + std::string(key.str()) + "` in `[data]`");
      } else if (!entry.is_string()) {
        refuse(entry.source(), "`catalog` is the name of a file");
      } else if (const fs::path file = folder / *entry.value<std::string>(); !fs::is_regular_file(file, failed)) {
        refuse(entry.source(), "there is no file " + file.lexically_normal().string());
      } else {
        found = file.lexically_normal().string();
      }
    }
    return found;
  }

  Project read() const {
    Project project;
    toml::table table;
    try {
      table = toml::parse(sources.text(id));
    } catch (const toml::parse_error& error) {
      refuse(error.source(), std::string(error.description()));
      return project;
    }
    for (const auto& [key, value] : table) {
      if (key.str() == "paths") {
        project.folders = folders(value);
      } else if (key.str() == "data") {
        project.catalog = catalog(value);
      } else {
        refuse(key.source(), "there is no key `" + std::string(key.str()) + "`");
      }
    }
    return project;
  }
};

}  // namespace

Project read_project(const std::string& file, source::SourceManager& sources, diagnostics::Sink& sink) {
  const fs::path project = find_project(file);
  if (project.empty()) return {};
  std::ifstream in(project, std::ios::binary);
  std::stringstream text;
  text << in.rdbuf();
  return Reader{sources, sink, sources.add(project.string(), text.str()), project.parent_path()}.read();
}

}  // namespace ltr::driver
