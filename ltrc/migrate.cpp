#include <fmt/core.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "dsl/diagnostics/load_source.h"
#include "dsl/migrate/migrate.h"
#include "dsl/parse/parse.h"
#include "ltrc/commands.h"
#include "ltrc/exit_code.h"
#include "ltrc/fix.h"
#include "ltrc/source_files.h"

namespace ltr::driver {

namespace {

int migrate_file(const std::string& file, const MigrateOptions& options, const Common& common) {
  Compilation compilation;
  compilation.sink = std::make_unique<diagnostics::Sink>(common.max_errors);
  source::SourceManager& sources = compilation.sources;
  const auto id = diagnostics::load_source(file, sources, *compilation.sink);
  if (!id) return report(compilation, common);
  const ast::Module module = parse::parse(*id, sources, *compilation.sink);
  if (compilation.has_errors()) return report(compilation, common);
  if (module.edition >= options.to) return kOk;
  migrate::find_deprecated(module, options.to, *compilation.sink);
  if (options.check) {
    fmt::print("{}: edition {}, {} to rewrite for edition {}\n", file, module.edition, compilation.sink->error_count(),
               options.to);
    std::fflush(stdout);
    report(compilation, common);
    return kErrors;
  }
  // The edition line is the last fix, so a file that still needs a hand keeps its edition.
  const std::vector<diagnostics::Diagnostic> found = compilation.sink->sorted();
  const bool is_whole = std::none_of(found.begin(), found.end(), [](const auto& one) { return one.fixes.empty(); });
  std::vector<diagnostics::Fix> fixes;
  for (const diagnostics::Diagnostic& one : found) fixes.insert(fixes.end(), one.fixes.begin(), one.fixes.end());
  if (is_whole) fixes.push_back({module.edition_span, "ltr " + std::to_string(options.to)});
  if (const auto reason = write_file(file, apply_fixes(sources.text(*id), fixes))) {
    fmt::print(stderr, "error: cannot write {}: {}\n", file, *reason);
    return kErrors;
  }
  for (const diagnostics::Diagnostic& one : found) {
    if (!one.fixes.empty()) print_fixes(one, sources);
  }
  if (is_whole) {
    fmt::print("{}: edition {} is now edition {}\n", file, module.edition, options.to);
    return kOk;
  }
  fmt::print("{}: stays at edition {} until what follows is decided\n", file, module.edition);
  Compilation left;
  left.sink = std::make_unique<diagnostics::Sink>(common.max_errors);
  const auto again = diagnostics::load_source(file, left.sources, *left.sink);
  if (again) {
    migrate::find_deprecated(parse::parse(*again, left.sources, *left.sink), options.to, *left.sink);
  }
  return report(left, common);
}

}  // namespace

int run_migrate(const MigrateOptions& options, const Common& common) {
  const std::vector<int64_t> known = migrate::known_editions(std::getenv("LTR_TEST_EDITION") != nullptr);
  if (std::find(known.begin(), known.end(), options.to) == known.end()) {
    std::string list;
    for (const int64_t edition : known) list += (list.empty() ? "" : ", ") + std::to_string(edition);
    fmt::print(stderr, "error: there is no edition {}\n  = help: this compiler knows {}\n", options.to, list);
    return kUsage;
  }
  int status = kOk;
  for (const std::string& place : options.files) {
    for (const std::string& file : find_sources(place)) status = std::max(status, migrate_file(file, options, common));
  }
  return status;
}

}  // namespace ltr::driver
