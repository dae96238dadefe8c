#include "runtime/api/suggest.h"

#include <algorithm>
#include <utility>

namespace ltr {

namespace {

struct Renamed {
  const char* theirs;
  const char* ours;
};
constexpr Renamed kRenamed[] = {
#define LTR_RENAMED(theirs, ours) {theirs, ours},
#include "runtime/tables/renamed.def"
#undef LTR_RENAMED
};

Str without_dashes(Str name) {
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}

/// The one of `names` that another library calls so: `trainer.steps` of `trainer.max_steps`.
Str renamed(const Str& word, const std::vector<Str>& names) {
  const size_t begin = word.rfind('.') == Str::npos ? 0 : word.rfind('.') + 1;
  for (const Renamed& row : kRenamed) {
    if (without_dashes(word.substr(begin)) != row.theirs) continue;
    for (const Str& name : names) {
      if (without_dashes(name) == without_dashes(word.substr(0, begin) + row.ours)) return name;
    }
  }
  return "";
}

/// Insertions, deletions, changes and swaps of neighbours (optimal string alignment).
size_t distance(Str a, Str b) {
  a = without_dashes(std::move(a));
  b = without_dashes(std::move(b));
  std::vector<std::vector<size_t>> table(a.size() + 1, std::vector<size_t>(b.size() + 1));
  for (size_t i = 0; i <= a.size(); ++i) table[i][0] = i;
  for (size_t j = 0; j <= b.size(); ++j) table[0][j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t change = table[i - 1][j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      table[i][j] = std::min({table[i - 1][j] + 1, table[i][j - 1] + 1, change});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        table[i][j] = std::min(table[i][j], table[i - 2][j - 2] + 1);
      }
    }
  }
  return table[a.size()][b.size()];
}

/// The only one of `names` that begins with `word`.
Str begun(const Str& word, const std::vector<Str>& names) {
  if (word.size() < 3) return "";
  Str found;
  for (const Str& name : names) {
    if (!without_dashes(name).starts_with(without_dashes(word)) || name == found) continue;
    if (!found.empty()) return "";
    found = name;
  }
  return found;
}

}  // namespace

Str nearest(const Str& word, const std::vector<Str>& names) {
  if (Str ours = renamed(word, names); !ours.empty()) return ours;
  // A short word is two edits from too many others.
  const size_t limit = std::clamp<size_t>(word.size() / 3, 1, 2);
  Str best;
  size_t best_distance = limit + 1;
  for (const Str& name : names) {
    if (std::max(word.size(), name.size()) - std::min(word.size(), name.size()) > limit) continue;
    const size_t d = distance(word, name);
    if (d < best_distance && d < std::max(word.size(), name.size())) {
      best = name;
      best_distance = d;
    }
  }
  return best.empty() ? begun(word, names) : best;
}

}  // namespace ltr
