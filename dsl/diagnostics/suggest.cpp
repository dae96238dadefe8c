#include "dsl/diagnostics/suggest.h"

#include <algorithm>
#include <array>
#include <tuple>

namespace ltr::diagnostics {

namespace {

std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return out;
}

struct Row {
  std::string_view theirs;
  std::string_view text;
};

constexpr size_t kLongest = 100;

constexpr Row kRenamed[] = {
#define LTR_RENAMED(theirs, ours) {theirs, ours},
#include "dsl/diagnostics/foreign.def"
};
constexpr Row kForeign[] = {
#define LTR_FOREIGN(theirs, advice) {theirs, advice},
#include "dsl/diagnostics/foreign.def"
};
constexpr Row kAttributes[] = {
#define LTR_ATTRIBUTE(theirs, advice) {theirs, advice},
#include "dsl/diagnostics/foreign.def"
};
constexpr Row kPackages[] = {
#define LTR_PACKAGE(theirs, advice) {theirs, advice},
#include "dsl/diagnostics/foreign.def"
};

std::optional<std::string_view> find_text(std::span<const Row> rows, std::string_view word) {
  const auto row = std::find_if(rows.begin(), rows.end(), [&](const Row& one) { return one.theirs == word; });
  return row != rows.end() ? std::optional(row->text) : std::nullopt;
}

/// The first of our names for `word` that is among `candidates`.
template <class Text>
std::optional<std::string> our_name(std::string_view word, std::span<const Text> candidates) {
  for (const Row& row : kRenamed) {
    if (row.theirs == word && std::find(candidates.begin(), candidates.end(), row.text) != candidates.end())
      return std::string(row.text);
  }
  return std::nullopt;
}

}  // namespace

size_t edit_distance(std::string_view a, std::string_view b, size_t limit) {
  // Three rows suffice: a swap looks two back.
  std::array<std::vector<size_t>, 3> rows;
  for (auto& row : rows) row.resize(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) rows[0][j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    size_t least = SIZE_MAX;
    const auto& before = rows[(i - 1) % 3];
    auto& row = rows[i % 3];
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t substitute = before[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      row[j] = std::min({before[j] + 1, row[j - 1] + 1, substitute});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        row[j] = std::min(row[j], rows[(i - 2) % 3][j - 2] + 1);
      }
      least = std::min(least, row[j]);
    }
    // A swap looks two rows back, at one edit.
    if (least > limit + 1) return limit + 1;
  }
  return std::min(rows[a.size() % 3][b.size()], limit + 1);
}

std::optional<std::string_view> foreign_advice(std::string_view word, WordUse use) {
  if (const auto advice = use == WordUse::Attribute ? find_text(kAttributes, word) : std::nullopt) return advice;
  if (const auto advice = find_text(kForeign, word)) return advice;
  return find_text(kPackages, word);
}

std::optional<std::string_view> renamed(std::string_view word) { return find_text(kRenamed, word); }

bool is_foreign_package(std::string_view word) { return find_text(kPackages, word).has_value(); }

std::optional<std::string> renamed(std::string_view word, std::span<const std::string> candidates) {
  return our_name(word, candidates);
}

std::optional<std::string> suggest(std::string_view word, std::span<const std::string_view> candidates) {
  if (auto ours = our_name(word, candidates)) return ours;
  if (foreign_advice(word) || word.size() > kLongest) return std::nullopt;
  const size_t limit = std::max<size_t>(1, word.size() / 3);
  std::optional<std::string_view> best;
  size_t best_distance = limit + 1;
  bool best_is_swapped = false;
  for (const std::string_view candidate : candidates) {
    if (candidate == word || candidate.empty()) continue;
    const size_t longer = std::max(candidate.size(), word.size());
    const size_t shorter = std::min(candidate.size(), word.size());
    if (longer - shorter > limit) continue;
    const bool same_letters = longer == shorter && lower(candidate) == lower(word);
    const size_t distance = same_letters ? 0 : edit_distance(word, candidate, best_distance);
    // A word of one or two letters is one edit from too many others.
    if (!same_letters && distance >= shorter) continue;
    if (distance > best_distance || distance > limit) continue;
    const bool is_swapped = longer == shorter && std::is_permutation(word.begin(), word.end(), candidate.begin());
    if (word.size() <= 2 && !same_letters && !is_swapped) continue;
    if (!best || std::tuple(distance, !is_swapped, candidate) < std::tuple(best_distance, !best_is_swapped, *best)) {
      best = candidate;
      best_distance = distance;
      best_is_swapped = is_swapped;
    }
  }
  if (!best) return std::nullopt;
  return std::string(*best);
}

std::optional<std::string> suggest(std::string_view word, const std::vector<std::string>& candidates) {
  const std::vector<std::string_view> views(candidates.begin(), candidates.end());
  return suggest(word, std::span<const std::string_view>(views));
}

std::vector<std::string> longer_forms(std::string_view word, const std::vector<std::string>& candidates) {
  std::vector<std::string> found;
  for (const std::string& candidate : candidates) {
    if (candidate.ends_with("_" + std::string(word))) found.push_back(candidate);
  }
  return found;
}

std::string listed(std::span<const std::string> names) {
  std::string text;
  for (size_t i = 0; i < names.size(); ++i) text += (i == 0 ? "" : i + 1 == names.size() ? " and " : ", ") + names[i];
  return text;
}

}  // namespace ltr::diagnostics
