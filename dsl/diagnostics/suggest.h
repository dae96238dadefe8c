#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "dsl/diagnostics/diagnostic.h"

namespace ltr::diagnostics {

/// Insertions, deletions, substitutions and swaps of neighbours that turn `a` into `b`
/// (Damerau-Levenshtein, optimal string alignment); `limit + 1` where it takes more than `limit`.
size_t edit_distance(std::string_view a, std::string_view b, size_t limit = SIZE_MAX - 1);

/// Where a word stands: `Attribute` behind a `.`, `Argument` before the `=` in brackets, `Setting` in a section.
enum class WordUse : uint8_t { Name, Attribute, Argument, Setting };

/// What is written here in place of a word of PyTorch, Lightning, Keras or NumPy that has no twin.
std::optional<std::string_view> foreign_advice(std::string_view word, WordUse use = WordUse::Name);

/// What is written here in place of an argument `name` that `callee` lacks, needs, or takes in another shape; of one more than it
/// takes if the name is empty.
std::optional<std::string_view> advice_of_argument(const std::string& callee, const std::string& name);

/// Whether `word` is what another library calls one of its modules: `nn` of `nn.Linear`.
bool is_foreign_package(std::string_view word);

/// What `word` is called here first.
std::optional<std::string_view> renamed(std::string_view word);

/// What `word`, which another library has, is called here: the first of its names that `candidates` holds.
std::optional<std::string> renamed(std::string_view word, std::span<const std::string> candidates);

/// The candidate that `word` was probably meant to be: what another library calls so, or else at most a third of its length
/// away, and at least one edit is allowed. A difference of case only always counts. Of equally near ones that of the same
/// letters, `csv` for `cvs`, then one that begins so, `resnet18` for `resnet`, then the alphabetically first. Words of more
/// than 100 letters are nobody's typing and near to nothing.
std::optional<std::string> suggest(std::string_view word, std::span<const std::string_view> candidates,
                                   WordUse use = WordUse::Name);
std::optional<std::string> suggest(std::string_view word, const std::vector<std::string>& candidates);

/// Adds that `near` was probably meant by `word` at `span`. A guess, unless only letters are swapped or their case is another,
/// or another library calls it so.
void add_near(Diagnostic& diagnostic, std::string_view word, Span span, const std::string& near);

/// Adds what `word` at `span` was probably meant to be: one of `known`, or the form that stands here
/// for a word of another library. False if nothing is near.
bool did_you_mean(Diagnostic& diagnostic, const std::string& word, Span span, const std::vector<std::string>& known,
                  WordUse use = WordUse::Name);

/// The candidates of which `word` is the end: `train_epoch_end` and `val_epoch_end` of `epoch_end`.
std::vector<std::string> longer_forms(std::string_view word, const std::vector<std::string>& candidates);

/// What is that few is listed where a name is none of it.
constexpr size_t kMostListed = 12;

/// What is said of `names` where `word` is none of them: all that there are, or the nearest, those first.
std::string what_it_has(std::string_view word, std::vector<std::string> names);

/// `a, b and c`.
std::string listed(std::span<const std::string> names);

}  // namespace ltr::diagnostics
