#include "ltrc/fix.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <set>

#include "ltrc/source_files.h"

namespace ltr::driver {

namespace {

constexpr int kMaxRounds = 5;

using diagnostics::Diagnostic;
using diagnostics::Fix;

/// The files that the user can change: those of the program, not those of the library.
std::set<source::SourceId> own_files(const Compilation& compilation) {
  std::set<source::SourceId> files = {source::SourceId{1}};  // What is checked was loaded first.
  if (!compilation.graph) return files;
  for (const resolve::Module& module : compilation.graph->modules) {
    if (!module.is_library) files.insert(module.ast.source);
  }
  return files;
}

bool overlap(const source::Span& a, const source::Span& b) {
  if (a.source != b.source) return false;
  if (a.begin == b.begin) return true;  // Two insertions at one place would depend on their order.
  return a.begin < b.end && b.begin < a.end;
}

/// The diagnostics whose fixes can be made together, in the order of the sink. The fixes of one
/// diagnostic are made all or not at all.
std::vector<const Diagnostic*> choose(const std::vector<Diagnostic>& diagnostics,
                                      const std::set<source::SourceId>& files) {
  std::vector<const Diagnostic*> chosen;
  std::vector<source::Span> taken;
  for (const Diagnostic& diagnostic : diagnostics) {
    const std::vector<Fix>& fixes = diagnostic.fixes;
    const bool is_free = std::all_of(fixes.begin(), fixes.end(), [&](const Fix& fix) {
      return !fix.is_guess && files.contains(fix.span.source) &&
             std::none_of(taken.begin(), taken.end(),
                          [&](const source::Span& other) { return overlap(fix.span, other); });
    });
    if (fixes.empty() || !is_free) continue;
    for (const Fix& fix : fixes) taken.push_back(fix.span);
    chosen.push_back(&diagnostic);
  }
  return chosen;
}

/// Writes every file that a fix changes.
bool write_fixes(const std::vector<const Diagnostic*>& chosen, const source::SourceManager& sources) {
  std::map<source::SourceId, std::vector<Fix>> by_file;
  for (const Diagnostic* diagnostic : chosen) {
    for (const Fix& fix : diagnostic->fixes) by_file[fix.span.source].push_back(fix);
  }
  for (const auto& [file, fixes] : by_file) {
    const std::string path(sources.path(file));
    if (const auto reason = write_file(path, apply_fixes(sources.text(file), fixes))) {
      fmt::print(stderr, "error: cannot write {}: {}\n", path, *reason);
      return false;
    }
  }
  return true;
}

}  // namespace

void print_fixes(const Diagnostic& diagnostic, const source::SourceManager& sources) {
  for (const Fix& fix : diagnostic.fixes) {
    const source::Position at = sources.position(fix.span).begin;
    const std::string_view old = sources.text(fix.span);
    std::string text = fix.replacement;
    while (text.ends_with("\n")) text.pop_back();
    std::string what = fmt::format("`{}` is now `{}`", old, text);
    if (fix.span.is_empty()) what = fmt::format("`{}` was added", text);
    if (text.empty()) what = fmt::format("`{}` was removed", old);
    fmt::print("fixed {}:{}:{}: {}: {}\n", sources.path(fix.span.source), at.line, at.column,
               diagnostics::to_text(diagnostic.code), what);
  }
}

std::string apply_fixes(std::string_view text, std::vector<Fix> fixes) {
  // From the back, so that the places before stay right.
  std::sort(fixes.begin(), fixes.end(), [](const Fix& a, const Fix& b) { return a.span.begin > b.span.begin; });
  std::string result(text);
  for (const Fix& fix : fixes) result.replace(fix.span.begin, fix.span.end - fix.span.begin, fix.replacement);
  return result;
}

bool fix_file(const std::string& file, const Common& common, Compilation& compilation) {
  for (int round = 0;; ++round) {
    compilation = Compilation{};
    analyze(file, common, compilation);
    if (round == kMaxRounds || compilation.sources.count() == 0) return true;
    const std::vector<Diagnostic> sorted = compilation.sink->sorted();
    const auto chosen = choose(sorted, own_files(compilation));
    if (chosen.empty()) return true;
    if (!write_fixes(chosen, compilation.sources)) return false;
    for (const Diagnostic* diagnostic : chosen) print_fixes(*diagnostic, compilation.sources);
  }
}

}  // namespace ltr::driver
