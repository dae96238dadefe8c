#include "dsl/diagnostics/suggest.h"

#include <algorithm>
#include <array>
#include <numeric>
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

/// By their words, so that one is found at once; rows of one word stay in order.
template <size_t N>
consteval std::array<Row, N> sorted(const Row (&rows)[N]) {
  std::array<size_t, N> order;
  std::iota(order.begin(), order.end(), size_t(0));
  std::sort(order.begin(), order.end(),
            [&](size_t a, size_t b) { return std::tie(rows[a].theirs, a) < std::tie(rows[b].theirs, b); });
  std::array<Row, N> result;
  std::transform(order.begin(), order.end(), result.begin(), [&](size_t at) { return rows[at]; });
  return result;
}

constexpr auto kRenamed = sorted({
#define LTR_RENAMED(theirs, ours) {theirs, ours},
#include "dsl/diagnostics/foreign.def"
});
constexpr auto kForeign = sorted({
#define LTR_FOREIGN(theirs, advice) {theirs, advice},
#include "dsl/diagnostics/foreign.def"
});
constexpr auto kAttributes = sorted({
#define LTR_ATTRIBUTE(theirs, advice) {theirs, advice},
#include "dsl/diagnostics/foreign.def"
});
constexpr auto kArguments = sorted({
#define LTR_ARGUMENT(theirs, advice) {theirs, advice},
#include "dsl/diagnostics/foreign.def"
});
constexpr auto kSettings = sorted({
#define LTR_SETTING(theirs, advice) {theirs, advice},
#include "dsl/diagnostics/foreign.def"
});
constexpr auto kPackages = sorted({
#define LTR_PACKAGE(theirs, advice) {theirs, advice},
#include "dsl/diagnostics/foreign.def"
});
constexpr auto kGiven = sorted({
#define LTR_GIVEN(of, advice) {of, advice},
#include "dsl/diagnostics/foreign.def"
});

/// Where advice for a word that stands so is looked for, in this order.
std::vector<std::span<const Row>> advice_for(WordUse use) {
  switch (use) {
    case WordUse::Name: return {kForeign, kArguments};
    case WordUse::Attribute: return {kAttributes, kForeign, kArguments};
    case WordUse::Argument: return {kArguments};
    case WordUse::Setting: return {kSettings, kForeign, kArguments};
  }
  return {};
}

std::optional<std::string_view> find_text(std::span<const Row> rows, std::string_view word) {
  const auto row = std::ranges::lower_bound(rows, word, {}, &Row::theirs);
  return row != rows.end() && row->theirs == word ? std::optional(row->text) : std::nullopt;
}

/// The first of our names for `word` that is among `candidates`. A metric of classes has no word for them in front, as
/// torchmetrics' `MulticlassROC` has.
template <class Text>
std::optional<std::string> our_name(std::string_view word, std::span<const Text> candidates) {
  constexpr std::string_view kOfClasses = "Multiclass";
  const auto is_known = [&](std::string_view name) {
    return std::find(candidates.begin(), candidates.end(), name) != candidates.end();
  };
  for (const Row& row : kRenamed) {
    if (row.theirs == word && is_known(row.text)) return std::string(row.text);
  }
  const std::string_view rest = word.starts_with(kOfClasses) ? word.substr(kOfClasses.size()) : "";
  return !rest.empty() && is_known(rest) ? std::optional(std::string(rest)) : std::nullopt;
}

/// The words of a name, in order of the alphabet.
std::vector<std::string_view> sorted_words(std::string_view name) {
  std::vector<std::string_view> words;
  for (size_t begin = 0; begin <= name.size();) {
    const size_t end = std::min(name.find('_', begin), name.size());
    words.push_back(name.substr(begin, end - begin));
    begin = end + 1;
  }
  std::sort(words.begin(), words.end());
  return words;
}

/// `train_start_batch` for `train_batch_start`.
bool has_same_words(std::string_view a, std::string_view b) {
  if (a.size() != b.size() || a.find('_') == std::string_view::npos) return false;
  // Few pairs have the same letters, and this is asked of each name for each that is not known.
  const auto letters = [](std::string_view name) { return std::accumulate(name.begin(), name.end(), 0); };
  return letters(a) == letters(b) && sorted_words(a) == sorted_words(b);
}

/// That with the fewest edits.
std::optional<std::string_view> nearest(std::string_view word, std::span<const std::string_view> candidates) {
  if (word.size() > kLongest) return std::nullopt;
  const size_t limit = std::max<size_t>(1, word.size() / 3);
  std::optional<std::string_view> best;
  size_t best_distance = limit + 1;
  std::tuple<size_t, bool, bool, std::string_view> best_rank;
  for (const std::string_view candidate : candidates) {
    if (candidate == word || candidate.empty()) continue;
    const size_t longer = std::max(candidate.size(), word.size());
    const size_t shorter = std::min(candidate.size(), word.size());
    if (longer - shorter > limit) continue;
    const bool same_letters = (longer == shorter && lower(candidate) == lower(word)) || has_same_words(word, candidate);
    const size_t distance = same_letters ? 0 : edit_distance(word, candidate, best_distance);
    // A word of one or two letters is one edit from too many others.
    if (!same_letters && distance >= shorter) continue;
    if (distance > best_distance || distance > limit) continue;
    const bool is_swapped = longer == shorter && std::is_permutation(word.begin(), word.end(), candidate.begin());
    if (word.size() <= 2 && !same_letters && !is_swapped) continue;
    const bool is_begun = candidate.starts_with(word);
    const auto rank = std::tuple(distance, !is_swapped, !is_begun, candidate);
    if (!best || rank < best_rank) {
      best = candidate;
      best_distance = distance;
      best_rank = rank;
    }
  }
  return best;
}

/// The word of another library, misspelt: `Sequental`.
std::optional<std::string_view> misspelt_foreign(std::string_view word, WordUse use) {
  std::vector<std::string_view> words;
  constexpr size_t kShort = 5;  // One slip makes too many other words of one that is shorter.
  for (const std::span<const Row> rows : advice_for(use)) {
    for (const Row& row : rows) {
      if (row.theirs.size() >= kShort) words.push_back(row.theirs);
    }
  }
  // Advice for a word that is two slips away is advice for another one.
  const auto near = nearest(word, words);
  return near && edit_distance(word, *near, 1) <= 1 ? near : std::nullopt;
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
  for (const std::span<const Row> rows : advice_for(use)) {
    if (const auto advice = find_text(rows, word)) return advice;
  }
  return use == WordUse::Argument ? std::nullopt : find_text(kPackages, word);
}

std::optional<std::string_view> advice_of_argument(const std::string& callee, const std::string& name) {
  return find_text(kGiven, callee + "." + name);
}

std::optional<std::string_view> renamed(std::string_view word) { return find_text(kRenamed, word); }

bool is_foreign_package(std::string_view word) { return find_text(kPackages, word).has_value(); }

std::optional<std::string> renamed(std::string_view word, std::span<const std::string> candidates) {
  return our_name(word, candidates);
}

std::optional<std::string> suggest(std::string_view word, std::span<const std::string_view> candidates, WordUse use) {
  if (auto ours = our_name(word, candidates)) return ours;
  if (foreign_advice(word, use)) return std::nullopt;
  const auto near = nearest(word, candidates);
  return near ? std::optional(std::string(*near)) : std::nullopt;
}

std::optional<std::string> suggest(std::string_view word, const std::vector<std::string>& candidates) {
  const std::vector<std::string_view> views(candidates.begin(), candidates.end());
  return suggest(word, std::span<const std::string_view>(views));
}

void add_near(Diagnostic& diagnostic, std::string_view word, Span span, const std::string& near) {
  const std::string written = lower(word);
  const std::string meant = lower(near);
  const bool is_renamed =
      std::ranges::any_of(kRenamed, [&](const Row& row) { return row.theirs == word && row.text == near; });
  // `b` and the binder `B` are two names.
  const bool is_slip = written.size() > 1 && written.size() == meant.size() &&
                       std::is_permutation(written.begin(), written.end(), meant.begin());
  diagnostic.help("did you mean `{}`?", near);
  if (is_renamed || is_slip)
    diagnostic.fix(span, near);
  else
    diagnostic.guess(span, near);
}

bool did_you_mean(Diagnostic& diagnostic, const std::string& word, Span span, const std::vector<std::string>& known,
                  WordUse use) {
  // A word in quotes keeps them.
  const bool is_quoted = use == WordUse::Name && span.end - span.begin == word.size() + 2;
  const Span place = is_quoted ? Span{span.source, span.begin + 1, span.end - 1} : span;
  const std::vector<std::string_view> views(known.begin(), known.end());
  if (const auto ours = our_name<std::string_view>(word, views)) {
    add_near(diagnostic, word, place, *ours);
    return true;
  }
  const auto near = suggest(word, views, use);
  std::optional<std::string_view> theirs;
  if (foreign_advice(word, use))
    theirs = word;
  else if (!renamed(word))
    theirs = misspelt_foreign(word, use);
  if (theirs && (!near || edit_distance(word, *theirs) < edit_distance(word, *near)))
    diagnostic.help("{}", std::string(*foreign_advice(*theirs, use)));
  else if (near)
    add_near(diagnostic, word, place, *near);
  return theirs || near;
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

std::string what_it_has(std::string_view word, std::vector<std::string> names) {
  const auto joined = [&] {
    std::string text;
    for (const std::string& name : names) text += (text.empty() ? "" : ", ") + name;
    return text;
  };
  if (names.size() <= kMostListed) return "it has " + joined();
  const auto farness = [&](const std::string& name) {
    return double(edit_distance(word.substr(0, kLongest), name)) / double(std::max(word.size(), name.size()));
  };
  std::ranges::stable_sort(names, {}, farness);
  names.resize(kMostListed);
  return "among others it has " + joined();
}

}  // namespace ltr::diagnostics
