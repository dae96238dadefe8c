#include <algorithm>
#include <map>

#include "codegen/training_logic/rules.h"
#include "dsl/diagnostics/suggest.h"
#include "runtime/tables/weight_group.h"
#include "runtime/tables/weight_name.h"

namespace ltr::training_logic {

namespace {

/// The declaration of the block that a weight is a member of.
std::string kind_of(const Scope& place, const Heap& heap) {
  const size_t dot = place.path.rfind('.');
  const std::string parent = dot == std::string::npos ? "" : place.path.substr(0, dot);
  for (const Object& object : heap.objects) {
    if (object.scope.root == place.root && object.scope.path == parent) return std::string(object.name);
  }
  return "";
}

bool chooses(const Pattern& pattern, const WeightUse& use, const Heap& heap) {
  if (!pattern.is_init) return takes(pattern.text, use, heap);
  const std::vector<Scope>& places = heap.weights[use.weight].places;
  return std::any_of(places.begin(), places.end(),
                     [&](const Scope& place) { return matches(pattern.text, weight_name(place.path)); });
}

/// The name of a weight of each element of a list, as one that fits a pattern only if all of them do: in place of the number
/// stands what is none, and too long for `?`.
std::string of_all_elements(const std::string& name, const std::string& pattern) {
  std::string other;
  for (const char c : name) other += c == '*' ? std::string(pattern.size() + 1, '#') : std::string(1, c);
  return other;
}

/// Whether a group in front takes the weight; of a list of unknown length, that of all elements.
const std::string* taken_before(const Pattern& pattern, const WeightUse& use, const Heap& heap) {
  // `pattern` stands in a list behind them.
  const Pattern* first = &pattern - pattern.groups_before;
  while (first != &pattern && !takes(first->text, use, heap, true)) ++first;
  return first == &pattern ? nullptr : &first->text;
}

/// Whether an `init` begins the weight: of rules that choose it the last counts.
bool begins(const Pattern& pattern, const WeightUse& one, const Findings& findings, const Heap& heap) {
  const auto last = std::find_if(findings.patterns.rbegin(), findings.patterns.rend(), [&](const Pattern& other) {
    return other.is_init && other.of == pattern.of && chooses(other, one, heap);
  });
  return last != findings.patterns.rend() && &*last == &pattern;
}

/// E0309: an `init` of matrices begins no weight of one dim.
void check_begun(const Findings& findings, const Pattern& pattern, const Heap& heap, Sink& sink) {
  if (pattern.begins_matrices.empty()) return;
  const auto flat = std::find_if(pattern.weights.begin(), pattern.weights.end(), [&](const WeightUse& one) {
    return heap.weights[one.weight].rank < 2 && begins(pattern, one, findings, heap);
  });
  if (flat == pattern.weights.end()) return;
  const Weight& weight = heap.weights[flat->weight];
  sink.report(diag::wrong_argument(pattern.span, "`" + pattern.begins_matrices + "` begins matrices, and `" +
                                                     weight_name(weight.places[0].path) + "` has " +
                                                     (weight.rank == 1 ? "1 dim" : "0 dims"))
                  .help("a pattern that leaves it out; later rules win: `init \"{}\" = ones()`",
                        weight_name(weight.places[0].path)));
}

/// What could stand in a pattern for one of its weights: the name, whole and from what the optimizer was given on.
std::vector<std::string> names_for(const Pattern& pattern, const Heap& heap) {
  std::vector<std::string> names;
  for (const WeightUse& use : pattern.weights) {
    for (const Scope& place : heap.weights[use.weight].places) {
      names.push_back(weight_name(place.path));
      const size_t dot = names.back().rfind('.');
      // `*.wieght` means the weight of any; `*.bn3.weight` that of one which is not there.
      const bool is_of_any = pattern.text.starts_with("*.") && pattern.text.find('.', 2) == std::string::npos;
      if (is_of_any && dot != std::string::npos) names.push_back("*" + names.back().substr(dot));
      if (!pattern.is_init && use.scope.holds(place) && place.path.size() > use.scope.path.size())
        names.push_back(use.scope.name_of(place));
    }
  }
  for (size_t i = 0; pattern.is_place && i < names.size(); ++i) {
    const size_t dot = names[i].rfind('.');
    if (dot != std::string::npos) names.push_back(names[i].substr(0, dot));
  }
  return names;
}

}  // namespace

namespace {

/// How many edits are between a pattern, a part of it behind a `.`, and the name of a weight or what it begins with.
size_t farness(std::string_view pattern, std::string_view name) {
  while (pattern.ends_with('*') || pattern.ends_with('.')) pattern.remove_suffix(1);
  size_t least = SIZE_MAX;
  for (size_t begin = 0; begin < pattern.size(); begin = pattern.find('.', begin) + 1) {
    const std::string_view part = pattern.substr(begin);
    for (const size_t length : {name.size(), name.find('.'), part.size()})
      least = std::min(least, diagnostics::edit_distance(part, name.substr(0, length)));
    if (pattern.find('.', begin) == std::string_view::npos) break;
  }
  return least;
}

}  // namespace

void report_unmatched(const Pattern& pattern, const std::string* before, const Heap& heap, Sink& sink) {
  diagnostics::Diagnostic diagnostic = diag::pattern_matches_nothing(pattern.span, pattern.of, pattern.text);
  if (before != nullptr) {
    diagnostic.note("what it matches belongs to \"{}\" in front of it: the first group counts", *before);
  } else if (pattern.text.starts_with('@') && !pattern.is_init && find_group_word(pattern.text) == nullptr) {
    diagnostic.note("there are {}", group_words());
  } else if (const auto near = diagnostics::suggest(pattern.text, names_for(pattern, heap))) {
    const Span text{pattern.span.source, pattern.span.begin + 1, pattern.span.end - 1};
    diagnostic.help("did you mean \"{}\"?", *near).guess(text, *near);
  } else if (!pattern.weights.empty()) {
    std::vector<std::string> names;
    for (const auto& use : pattern.weights) names.push_back(weight_name(heap.weights[use.weight].places[0].path));
    const size_t count = names.size();
    // The nearest first: a pattern is near to a weight where it is near to what begins its name.
    std::ranges::stable_sort(names, {}, [&](const std::string& name) { return farness(pattern.text, name); });
    names.resize(std::min<size_t>(count, 6));
    std::string list;
    for (const std::string& name : names) list += (list.empty() ? "" : ", ") + name;
    diagnostic.note("its weights are {}{}", list, count > names.size() ? ", …" : "");
  }
  sink.report(std::move(diagnostic));
}

namespace {

std::vector<WeightPlace> places_of(const std::string& pattern, const WeightUse& use, const Heap& heap, bool surely) {
  const auto named = [&](const std::string& name) { return surely ? of_all_elements(name, pattern) : name; };
  const Weight& weight = heap.weights[use.weight];
  // Only words such as `@norm` ask for the block, which is looked for among all.
  const bool asks_kind = find_group_word(pattern) != nullptr;
  std::vector<WeightPlace> places;
  for (const Scope& place : weight.places) {
    const bool lies_within = use.scope.holds(place) && place.path.size() > use.scope.path.size();
    const std::string below = lies_within ? use.scope.name_of(place) : "";
    places.push_back({named(weight_name(place.path)), named(below), asks_kind ? kind_of(place, heap) : ""});
  }
  return places;
}

/// Whether it means weights that no optimizer owns, which E0404 says.
bool means_unowned(const Pattern& pattern, const Heap& heap) {
  return !pattern.is_init && heap.any_unowned([&](const WeightUse& use) { return takes(pattern.text, use, heap); });
}

}  // namespace

bool takes(const std::string& pattern, const WeightUse& use, const Heap& heap, bool surely) {
  return group_takes(pattern, heap.weights[use.weight].rank, places_of(pattern, use, heap, surely));
}

bool lies_at(const std::string& path, const WeightUse& use, const Heap& heap, bool surely) {
  return ltr::lies_at(path, heap.weights[use.weight].rank, places_of(path + ".*", use, heap, surely));
}

namespace {

/// The weights of the object that an `init` sets; of a list of unknown length, those of all elements alone if `surely`.
std::set<WeightId> set_by(const Pattern& init, const Heap& heap, bool surely) {
  std::set<WeightId> chosen;
  for (const WeightUse& use : init.weights) {
    const std::vector<Scope>& places = heap.weights[use.weight].places;
    const bool is_chosen = std::ranges::any_of(places, [&](const Scope& place) {
      const std::string name = weight_name(place.path);
      return matches(init.text, surely ? of_all_elements(name, init.text) : name);
    });
    if (is_chosen) chosen.insert(use.weight);
  }
  return chosen;
}

/// The first `init` of the same object behind it that sets all of what it sets, and more.
const Pattern* replaced_by(const Pattern& init, const Findings& findings, const Heap& heap) {
  const std::set<WeightId> own = set_by(init, heap, false);
  if (own.empty()) return nullptr;
  const Pattern* end = findings.patterns.data() + findings.patterns.size();
  const Pattern* later = std::find_if(&init + 1, end, [&](const Pattern& other) {
    if (!other.is_init || other.of != init.of || other.weights.empty()) return false;
    const Scope &scope = init.weights[0].scope, &place = other.weights[0].scope;
    if (scope.root != place.root || scope.path != place.path) return false;
    const std::set<WeightId> chosen = set_by(other, heap, true);
    return std::ranges::includes(chosen, own) && (chosen.size() > own.size() || other.text == init.text);
  });
  return later == end ? nullptr : later;
}

/// W0311, where it is so in every object that the line is for.
void check_replaced(const Findings& findings, const Heap& heap, Sink& sink) {
  std::map<Span, const Pattern*> replaced;
  for (const Pattern& pattern : findings.patterns) {
    if (!pattern.is_init) continue;
    const Pattern* later = replaced_by(pattern, findings, heap);
    const auto known = replaced.try_emplace(pattern.span, later).first;
    if (later == nullptr) known->second = nullptr;
  }
  for (const auto& [span, later] : replaced) {
    if (later == nullptr) continue;
    const auto own = std::ranges::find(findings.patterns, span, &Pattern::span);
    sink.report(diag::replaced_init(span, own->text, "\"" + later->text + "\" behind it sets the same weights again")
                    .label(later->span, "the last rule that matches counts")
                    .help("put `init \"{}\"` behind `init \"{}\"`, or take it away", own->text, later->text));
  }
}

}  // namespace

void check_patterns(const Findings& findings, const Heap& heap, Sink& sink) {
  check_replaced(findings, heap, sink);
  std::set<const std::string*> told;  // The one in front is the mistake, however many stand behind it.
  for (const Pattern& pattern : findings.patterns) {
    const std::string* before = nullptr;
    bool is_free = false;
    for (const WeightUse& weight : pattern.weights) {
      if (!chooses(pattern, weight, heap)) continue;
      const std::string* taken = taken_before(pattern, weight, heap);
      is_free = is_free || taken == nullptr;
      before = taken != nullptr ? taken : before;
    }
    if (is_free) {
      check_begun(findings, pattern, heap, sink);
    } else if (before != nullptr ? told.insert(before).second : !means_unowned(pattern, heap)) {
      report_unmatched(pattern, before, heap, sink);
    }
  }
}

}  // namespace ltr::training_logic
