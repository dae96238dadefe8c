#pragma once

// What stands behind the dot of values that no declaration describes: optimizers, what is known of streams, the run.

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <string_view>

#include "dsl/library/library.h"

namespace ltr::check {

/// `opt.lr`, in steps and hooks.
struct OptimizerField {
  std::string_view name;
  std::string_view form;  ///< with its type
  std::string_view doc;
};

inline constexpr OptimizerField kOptimizerFields[] = {
    {"weights", "opt.weights: weights", "the weights that it moves"},
    {"grads", "opt.grads: weights", "their gradients: in hooks of an update, and in manual steps"},
    {"name", "opt.name: str", "what the model calls it"},
    {"lr", "opt.lr: float", "its learning rate at this update"},
};

/// `opt.zero_grad()`, in manual steps; `library::find` has its op.
struct OptimizerMethod {
  std::string_view name;
  std::string_view form;
  size_t numbers;  ///< how many it takes
  std::string_view doc;
};

inline constexpr OptimizerMethod kOptimizerMethods[] = {
    {"zero_grad", "opt.zero_grad()", 0, "throws away the gradients that no `opt.step()` used"},
    {"step", "opt.step()", 0, "an update, which uses the gradients up"},
    {"clip_norm", "opt.clip_norm(x)", 1, "scales the gradients to this norm at most"},
    {"clip_value", "opt.clip_value(x)", 1, "cuts each gradient to lie between -x and x"},
    {"set_lr", "opt.set_lr(x)", 1, "the learning rate from here on"},
};

/// `seen.age.mean`: what `facts` knows of a field.
struct FactField {
  enum class Of : uint8_t {
    Numbers,  ///< numbers, bools, 0-d tensors
    All,
    Classes,  ///< texts, ints, bools
  };
  std::string_view name;
  library::Id op;
  Of of;
  std::string_view form;
  std::string_view doc;
};

inline constexpr FactField kFactFields[] = {
    {"mean", library::Id::FactMean, FactField::Of::Numbers, "seen.age.mean: float", "the mean of the values"},
    {"std", library::Id::FactStd, FactField::Of::Numbers, "seen.age.std: float",
     "their standard deviation, that of the sample (n - 1)"},
    {"min", library::Id::FactMin, FactField::Of::Numbers, "seen.age.min: float", "the smallest"},
    {"max", library::Id::FactMax, FactField::Of::Numbers, "seen.age.max: float", "the largest"},
    {"median", library::Id::FactMedian, FactField::Of::Numbers, "seen.age.median: float", "the median"},
    {"missing", library::Id::FactMissing, FactField::Of::All, "seen.age.missing: int",
     "how many records have no value, or NaN"},
    {"count", library::Id::FactCount, FactField::Of::All, "seen.age.count: int", "how many have one"},
    {"unique", library::Id::FactUnique, FactField::Of::Classes, "seen.city.unique: int",
     "how many values there are; it is a dim"},
    {"classes", library::Id::FactTexts, FactField::Of::Classes, "seen.city.classes: list[str]",
     "these values, in order; of an int or bool a list of such"},
    {"counts", library::Id::FactCounts, FactField::Of::Classes, "seen.city.counts: list[int]",
     "how often each of them occurs"},
    {"class_weights", library::Id::FactClassWeights, FactField::Of::Classes, "seen.city.class_weights: list[float]",
     "of each n / (unique · count), for a loss"},
};

/// `words.encode(list)`: what a vocabulary does, one of words, and one of tokens, which cuts texts itself.
struct VocabularyMethod {
  std::string_view name;
  struct Form {
    library::Id op;
    const char* text;
  } of_words, of_tokens;
  std::string_view doc;
};

inline constexpr VocabularyMethod kVocabularyMethods[] = {
    {"encode",
     {library::Id::EncodeWords, "words.encode(text.split())"},
     {library::Id::EncodeText, "tok.encode(text)"},
     "the ids of words, or of a text: i64[?]"},
    {"decode",
     {library::Id::DecodeWords, "words.decode(ids)"},
     {library::Id::DecodeText, "tok.decode(ids)"},
     "the words of ids, or their text; in `step predict` the texts of a batch"},
    {"id",
     {library::Id::WordId, "words.id(\"<pad>\")"},
     {library::Id::WordId, "tok.id(\"<pad>\")"},
     "the id of one word or token: an int, R3007 where there is none"},
};

/// The one field of a vocabulary.
inline constexpr std::string_view kVocabularySize = "size";
inline constexpr std::string_view kVocabularySizeDoc = "how many ids there are; it is a dim";

/// `run.dir`, in hooks and experiments.
struct RunField {
  std::string_view name;
  bool is_path;
  std::string_view form;
  std::string_view doc;
};

inline constexpr RunField kRunFields[] = {
    {"dir", true, "run.dir: path", "the folder of the run"},
    {"name", false, "run.name: str", "its name"},
};

/// The row of `table` under that name, or nullptr.
template <class Row, size_t Count>
constexpr const Row* find_member(const Row (&table)[Count], std::string_view name) {
  const Row* row = std::find_if(std::begin(table), std::end(table), [&](const Row& one) { return one.name == name; });
  return row == std::end(table) ? nullptr : row;
}

}  // namespace ltr::check
