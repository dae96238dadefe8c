#include <algorithm>

#include "codegen/training_logic/rules.h"
#include "runtime/tables/weight_name.h"
#include "runtime/tables/weight_pattern.h"

namespace ltr::training_logic {

namespace {

/// A path is meant whole, or from the block that was given to the optimizer.
bool chooses(const std::string& pattern, const Scope& scope, const Scope& place) {
  if (matches(pattern, weight_name(place.path))) return true;
  return scope.holds(place) && place.path.size() > scope.path.size() && matches(pattern, scope.name_of(place));
}

/// The declaration of the block that a weight is a member of.
std::string kind_of(const Scope& place, const Heap& heap) {
  const size_t dot = place.path.rfind('.');
  const std::string parent = dot == std::string::npos ? "" : place.path.substr(0, dot);
  for (const Object& object : heap.objects) {
    if (object.scope.root == place.root && object.scope.path == parent) return object.name;
  }
  return "";
}

}  // namespace

bool takes(const std::string& pattern, const WeightUse& use, const Heap& heap) {
  const Weight& weight = heap.weights[use.weight];
  if (pattern == "@1d") return weight.rank < 2;
  return std::any_of(weight.places.begin(), weight.places.end(), [&](const Scope& place) {
    const std::string name = place.path.substr(place.path.rfind('.') + 1);
    if (pattern == "@bias") return name == "bias" || name.starts_with("bias_");
    if (pattern == "@norm") return kind_of(place, heap).find("Norm") != std::string::npos;
    if (pattern == "@embedding") return kind_of(place, heap) == "Embedding";
    return chooses(pattern, use.scope, place);
  });
}

void check_patterns(const Findings& findings, const Heap& heap, Sink& sink) {
  for (const Pattern& pattern : findings.patterns) {
    const bool is_used = std::any_of(pattern.weights.begin(), pattern.weights.end(), [&](const WeightUse& one) {
      const std::vector<Scope>& places = heap.weights[one.weight].places;
      return std::any_of(places.begin(), places.end(),
                         [&](const Scope& place) { return chooses(pattern.text, one.scope, place); });
    });
    if (is_used) continue;
    diagnostics::Diagnostic diagnostic = diag::pattern_matches_nothing(pattern.span, pattern.of, pattern.text);
    if (!pattern.weights.empty()) {
      std::string list;
      for (size_t i = 0; i < std::min<size_t>(pattern.weights.size(), 6); ++i)
        list += (i == 0 ? "" : ", ") + weight_name(heap.weights[pattern.weights[i].weight].places[0].path);
      diagnostic.note("its weights are {}{}", list, pattern.weights.size() > 6 ? ", …" : "");
    }
    sink.report(std::move(diagnostic));
  }
}

}  // namespace ltr::training_logic
