#include "runtime/api/suggest.h"

#include <algorithm>

namespace ltr {

namespace {

/// Insertions, deletions, changes and swaps of neighbours (optimal string alignment).
size_t distance(Str a, Str b) {
  std::replace(a.begin(), a.end(), '-', '_');
  std::replace(b.begin(), b.end(), '-', '_');
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

}  // namespace

Str nearest(const Str& word, const std::vector<Str>& names) {
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
  return best;
}

}  // namespace ltr
