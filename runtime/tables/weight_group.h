#pragma once

// Which weights a `group` of an optimizer takes. Plain C++, since the compiler chooses as the program does.

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/tables/weight_pattern.h"

namespace ltr {

/// Where a weight lies; one that is tied lies at several places.
struct WeightPlace {
  std::string name;    ///< from the model on: `net.fc1.weight`
  std::string within;  ///< from what the optimizer was given on; "" if it does not lie in it
  std::string kind;    ///< the declaration of the block that it is a member of
};

/// A word that takes weights by what they are.
struct GroupWord {
  std::string_view word;
  bool (*takes)(const WeightPlace& place, size_t rank);
};

inline constexpr GroupWord kGroupWords[] = {
    {"@1d", [](const WeightPlace&, size_t rank) { return rank < 2; }},
    {"@bias",
     [](const WeightPlace& place, size_t) {
       const std::string_view name = std::string_view(place.name).substr(place.name.rfind('.') + 1);
       return name == "bias" || name.starts_with("bias_");
     }},
    {"@embedding", [](const WeightPlace& place, size_t) { return place.kind == "Embedding"; }},
    {"@norm", [](const WeightPlace& place, size_t) { return place.kind.find("Norm") != std::string::npos; }},
};

/// The words with commas between them.
inline std::string group_words() {
  std::string words;
  for (const GroupWord& known : kGroupWords) words += (words.empty() ? "" : ", ") + std::string(known.word);
  return words;
}

inline const GroupWord* find_group_word(std::string_view pattern) {
  const auto found = std::find_if(std::begin(kGroupWords), std::end(kGroupWords),
                                  [&](const GroupWord& known) { return known.word == pattern; });
  return found == std::end(kGroupWords) ? nullptr : found;
}

/// Whether the group `pattern` takes a weight with `rank` dims that lies at `places`: by one of these words, or by a name,
/// whole or from what the optimizer was given on.
inline bool group_takes(std::string_view pattern, size_t rank, const std::vector<WeightPlace>& places) {
  const GroupWord* word = find_group_word(pattern);
  return std::any_of(places.begin(), places.end(), [&](const WeightPlace& place) {
    if (word != nullptr) return word->takes(place, rank);
    return matches(pattern, place.name) || (!place.within.empty() && matches(pattern, place.within));
  });
}

/// Whether a weight lies at the place `path` or below it, or is one that the group `path` would take.
inline bool lies_at(std::string_view path, size_t rank, const std::vector<WeightPlace>& places) {
  return group_takes(path, rank, places) || group_takes(std::string(path) + ".*", rank, places);
}

}  // namespace ltr
