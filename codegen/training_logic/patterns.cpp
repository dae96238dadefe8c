#include <algorithm>

#include "codegen/training_logic/rules.h"

namespace ltr::training_logic {

bool matches(std::string_view pattern, std::string_view path) {
  if (pattern.empty()) return path.empty();
  if (pattern[0] == '*') {
    for (size_t taken = 0; taken <= path.size(); ++taken) {
      if (matches(pattern.substr(1), path.substr(taken))) return true;
    }
    return false;
  }
  if (path.empty()) return false;
  if (path[0] == '*') {
    const size_t digits = std::min(pattern.find_first_not_of("0123456789"), pattern.size());
    if (digits > 0 && matches(pattern.substr(digits), path.substr(1))) return true;
  }
  return (pattern[0] == '?' || pattern[0] == path[0]) && matches(pattern.substr(1), path.substr(1));
}

namespace {

/// A path is meant whole, or from the block that was given to the optimizer.
bool chooses(const Pattern& pattern, const Scope& place) {
  if (matches(pattern.text, place.path)) return true;
  const std::string& base = pattern.scope.path;
  return pattern.scope.holds(place) && place.path.size() > base.size() &&
         matches(pattern.text, place.path.substr(base.empty() ? 0 : base.size() + 1));
}

}  // namespace

void check_patterns(const Findings& findings, const Heap& heap, Sink& sink) {
  for (const Pattern& pattern : findings.patterns) {
    const bool is_used =
        std::any_of(pattern.weights.begin(), pattern.weights.end(), [&](WeightId id) {
          const std::vector<Scope>& places = heap.weights[id].places;
          return std::any_of(places.begin(), places.end(),
                             [&](const Scope& place) { return chooses(pattern, place); });
        });
    if (is_used) continue;
    diagnostics::Diagnostic diagnostic =
        diag::pattern_matches_nothing(pattern.span, pattern.of, pattern.text);
    if (!pattern.weights.empty()) {
      std::string list;
      for (size_t i = 0; i < std::min<size_t>(pattern.weights.size(), 6); ++i)
        list += (i == 0 ? "" : ", ") + heap.weights[pattern.weights[i]].places[0].path;
      diagnostic.note("its weights are {}{}", list, pattern.weights.size() > 6 ? ", …" : "");
    }
    sink.report(std::move(diagnostic));
  }
}

}  // namespace ltr::training_logic
