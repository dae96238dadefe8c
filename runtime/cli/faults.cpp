#include "runtime/cli/faults.h"

#include <set>
#include <string_view>

namespace ltr::cli {

namespace {

/// Line `line` of the source `file`, without its end; nothing if the program does not hold it.
Option<Str> source_line(const Program& program, const char* file, int32_t line) {
  for (const SourceFile& source : program.sources) {
    if (std::string_view(source.path) != file) continue;
    std::string_view text = source.text;
    for (int32_t i = 1; i < line; ++i) {
      const size_t end = text.find('\n');
      if (end == std::string_view::npos) return std::nullopt;
      text.remove_prefix(end + 1);
    }
    return Str(text.substr(0, text.find('\n')));
  }
  return std::nullopt;
}

}  // namespace

Str render(const Error& error, const Program& program) {
  Str out = fmt::format("error[{}]: {}\n", error.code, error.message);
  if (error.location.line > 0) {
    out += fmt::format("  --> {}:{}:{}\n", error.location.file, error.location.line, error.location.column);
    if (const Option<Str> line = source_line(program, error.location.file, error.location.line)) {
      out += fmt::format("{} | {}\n", error.location.line, *line);
    }
  }
  if (!error.help.empty()) out += fmt::format("  = help: {}\n", error.help);
  return out;
}

Str render(const std::vector<Error>& errors, const Program& program) {
  Str out;
  std::set<Str> seen;
  for (const Error& error : errors) {
    Str text = render(error, program);
    if (seen.insert(text).second) out += text;
  }
  return out;
}

int exit_code(const std::vector<Error>& errors) { return errors.empty() ? 0 : errors.front().exit_code(); }

Str place(const Location& location) {
  return location.line > 0 ? fmt::format("{}:{}", location.file, location.line) : "";
}

}  // namespace ltr::cli
