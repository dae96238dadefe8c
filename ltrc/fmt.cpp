#include <fmt/core.h>
#include <unistd.h>

#include <iostream>
#include <iterator>

#include "codegen/ir/internal_error.h"
#include "dsl/diagnostics/load_source.h"
#include "dsl/format/format.h"
#include "dsl/parse/parse.h"
#include "ltrc/commands.h"
#include "ltrc/exit_code.h"
#include "ltrc/source_files.h"

namespace ltr::driver {

namespace {

/// The canonical text of a file, or nothing if it has errors, which then lie in the sink.
std::optional<std::string> formatted(source::SourceId id, Compilation& compilation) {
  source::SourceManager& sources = compilation.sources;
  const ast::Module before = parse::parse(id, sources, *compilation.sink);
  if (compilation.has_errors()) return std::nullopt;
  std::string text = format::format(before, sources.text(id));
  // Whatever the formatter does, it must not change a program.
  diagnostics::Sink again;
  const source::SourceId copy = sources.add(std::string(sources.path(id)), text);
  const ast::Module after = parse::parse(copy, sources, again);
  LTR_INVARIANT(!again.has_errors() && format::is_same_tree(before, after),
                "formatting would change " + std::string(sources.path(id)), ir::Loc{});
  return text;
}

int format_stdin(const FmtOptions& options, const Common& common) {
  Compilation compilation;
  compilation.sink = std::make_unique<diagnostics::Sink>(common.max_errors);
  const std::string text{std::istreambuf_iterator<char>(std::cin), {}};
  if (const auto bad = source::find_invalid_utf8(text)) {
    compilation.sink->report(diag::not_utf8({}, "<stdin>", *bad));
    return report(compilation, common);
  }
  const auto result = formatted(compilation.sources.add("<stdin>", text), compilation);
  if (!result) return report(compilation, common);
  if (!options.check) {
    fmt::print("{}", *result);
    return kOk;
  }
  if (*result == text) return kOk;
  fmt::print("<stdin>\n");
  return kErrors;
}

int format_file(const std::string& file, const FmtOptions& options, const Common& common) {
  Compilation compilation;
  compilation.sink = std::make_unique<diagnostics::Sink>(common.max_errors);
  const auto id = diagnostics::load_source(file, compilation.sources, *compilation.sink);
  const auto result = id ? formatted(*id, compilation) : std::nullopt;
  if (!result) return report(compilation, common);
  const bool is_same = *result == compilation.sources.text(*id);
  if (options.check) {
    if (!is_same) fmt::print("{}\n", file);
    return is_same ? kOk : kErrors;
  }
  if (options.to_stdout) {
    fmt::print("{}", *result);
    return kOk;
  }
  if (is_same) return kOk;
  if (const auto reason = write_file(file, *result)) {
    fmt::print(stderr, "error: cannot write {}: {}\n", file, *reason);
    return kErrors;
  }
  if (isatty(2) != 0) fmt::print(stderr, "formatted {}\n", file);
  return kOk;
}

}  // namespace

int run_fmt(const FmtOptions& options, const Common& common) {
  const std::vector<std::string> places = options.places.empty() ? std::vector<std::string>{"."} : options.places;
  int status = kOk;
  for (const std::string& place : places) {
    if (place == "-") {
      status = std::max(status, format_stdin(options, common));
      continue;
    }
    for (const std::string& file : find_sources(place)) status = std::max(status, format_file(file, options, common));
  }
  return status;
}

}  // namespace ltr::driver
