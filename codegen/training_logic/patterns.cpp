#include <algorithm>

#include "codegen/training_logic/rules.h"
#include "runtime/tables/weight_name.h"
#include "runtime/tables/weight_pattern.h"

namespace ltr::training_logic {

namespace {

/// A name that stands for the weights of all elements of a list, as one that no pattern fits which chooses among them.
std::string of_any_number(const std::string& name) {
  std::string other;
  for (const char c : name) other += c == '*' ? std::string(2, '\0') : std::string(1, c);
  return other;
}

/// A path is meant whole, or from the block that was given to the optimizer. `surely`: of a list of unknown length, all elements.
bool chooses(const std::string& pattern, const Scope& scope, const Scope& place, bool surely = false) {
  const auto fits = [&](const std::string& name) { return matches(pattern, surely ? of_any_number(name) : name); };
  if (fits(weight_name(place.path))) return true;
  return scope.holds(place) && place.path.size() > scope.path.size() && fits(scope.name_of(place));
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

bool chooses(const Pattern& pattern, const WeightUse& use, const Heap& heap) {
  const std::vector<Scope>& places = heap.weights[use.weight].places;
  return std::any_of(places.begin(), places.end(),
                     [&](const Scope& place) { return chooses(pattern.text, use.scope, place); });
}

/// E0309: an `init` of matrices begins no weight of one dim; of rules that choose a weight the last counts.
void check_begun(const Findings& findings, const Pattern& pattern, const Heap& heap, Sink& sink) {
  if (pattern.begins_matrices.empty()) return;
  const auto flat = std::find_if(pattern.weights.begin(), pattern.weights.end(), [&](const WeightUse& one) {
    const auto last = std::find_if(findings.patterns.rbegin(), findings.patterns.rend(), [&](const Pattern& other) {
      return other.is_init && other.of == pattern.of && chooses(other, one, heap);
    });
    return heap.weights[one.weight].rank < 2 && last != findings.patterns.rend() && &*last == &pattern;
  });
  if (flat == pattern.weights.end()) return;
  const Weight& weight = heap.weights[flat->weight];
  sink.report(diag::wrong_argument(pattern.span, "`" + pattern.begins_matrices + "` begins matrices, and `" +
                                                     weight_name(weight.places[0].path) + "` has " +
                                                     (weight.rank == 1 ? "1 dim" : "0 dims"))
                  .help("a pattern that leaves it out; later rules win: `init \"{}\" = ones()`",
                        weight_name(weight.places[0].path)));
}

}  // namespace

bool takes(const std::string& pattern, const WeightUse& use, const Heap& heap, bool surely) {
  const Weight& weight = heap.weights[use.weight];
  if (pattern == "@1d") return weight.rank < 2;
  return std::any_of(weight.places.begin(), weight.places.end(), [&](const Scope& place) {
    const std::string name = place.path.substr(place.path.rfind('.') + 1);
    if (pattern == "@bias") return name == "bias" || name.starts_with("bias_");
    if (pattern == "@norm") return kind_of(place, heap).find("Norm") != std::string::npos;
    if (pattern == "@embedding") return kind_of(place, heap) == "Embedding";
    return chooses(pattern, use.scope, place, surely);
  });
}

namespace {

/// E0437: a group of which the groups before it leave nothing, as the first that fits takes a weight.
void check_left(const Pattern& group, const std::vector<const WeightUse*>& matched, const Heap& heap, Sink& sink) {
  std::optional<std::pair<std::string, Span>> taker;
  for (const WeightUse* use : matched) {
    const auto first = std::find_if(group.before.begin(), group.before.end(),
                                    [&](const auto& one) { return takes(one.first, *use, heap, true); });
    if (first == group.before.end()) return;
    if (!taker) taker = *first;
  }
  diagnostics::Diagnostic diagnostic = diag::group_takes_nothing(group.span, group.text);
  diagnostic.label(taker->second, "\"{}\" takes them first", taker->first)
      .help("write the narrower pattern first: a weight is in the first group that it matches");
  sink.report(std::move(diagnostic));
}

}  // namespace

void check_patterns(const Findings& findings, const Heap& heap, Sink& sink) {
  for (const Pattern& pattern : findings.patterns) {
    std::vector<const WeightUse*> matched;
    for (const WeightUse& one : pattern.weights) {
      if (pattern.is_init ? chooses(pattern, one, heap) : takes(pattern.text, one, heap)) matched.push_back(&one);
    }
    if (!matched.empty()) {
      check_begun(findings, pattern, heap, sink);
      if (!pattern.before.empty()) check_left(pattern, matched, heap, sink);
      continue;
    }
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
