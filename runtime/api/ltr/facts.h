#pragma once

// What a `data` declaration knows of its streams: `let seen = facts(stream)`, `let words = vocab(stream, of = tokens)`.
// All is computed in one pass when it is first asked for, unless a checkpoint or the cache has it. The objects belong to
// the data that they stand in.

#include "ltr/data.h"

namespace ltr {

class Facts;
class FieldFacts;
class Vocabulary;
class Context;

/// Of the fields `fields` of all records of `stream`. `name` is that of the `let`.
LTR_EXPORT const Facts* facts(Data& data, const Stream& stream, const Str& name, const std::vector<Str>& fields);
LTR_EXPORT const FieldFacts* field_facts(const Facts* facts, const Str& field);
// Of the values that are there; NaN is missing too, and nan is what no value gives.
LTR_EXPORT double fact_mean(const FieldFacts* field);
/// Of the sample: n - 1.
LTR_EXPORT double fact_std(const FieldFacts* field);
LTR_EXPORT double fact_min(const FieldFacts* field);
LTR_EXPORT double fact_max(const FieldFacts* field);
/// The middle one, of an even number the mean of the two in the middle.
LTR_EXPORT double fact_median(const FieldFacts* field);
LTR_EXPORT int64_t fact_missing(const FieldFacts* field);
LTR_EXPORT int64_t fact_count(const FieldFacts* field);
/// The different values, in order; how often each occurs; n / (unique * count).
LTR_EXPORT int64_t fact_unique(const FieldFacts* field);
LTR_EXPORT const std::vector<Str>& fact_texts(const FieldFacts* field);
LTR_EXPORT const Ints& fact_ints(const FieldFacts* field);
LTR_EXPORT std::vector<bool> fact_bools(const FieldFacts* field);
LTR_EXPORT const Ints& fact_counts(const FieldFacts* field);
LTR_EXPORT Floats fact_class_weights(const FieldFacts* field);

/// The words of a text field, cut at white space, or those that `words` delivers for each record. `special` come first, then
/// words by falling count, equal counts by code point; those seen less than `min_count` times are left out, and those
/// behind `max` in all. `unknown`: "skip" leaves words that are not there out, else they are `<unk>`.
LTR_EXPORT const Vocabulary* vocab(Data& data, const Stream& stream, const Str& of, const Option<int64_t>& max,
                                   int64_t min_count, const std::vector<Str>& special, const Str& unknown,
                                   const Str& name);
LTR_EXPORT const Vocabulary* vocab(Data& data, const Stream& stream, const Stream& words, const Option<int64_t>& max,
                                   int64_t min_count, const std::vector<Str>& special, const Str& unknown,
                                   const Str& name);
LTR_EXPORT int64_t vocab_size(const Vocabulary* words);
/// `i64[?]`.
LTR_EXPORT Tensor encode_words(const Vocabulary* words, const std::vector<Str>& text);
/// R3007 for an id that there is not.
LTR_EXPORT std::vector<Str> decode_words(const Vocabulary* words, const Tensor& ids);
/// The tokens that the `tokenizer.json` at `file` makes of texts.
LTR_EXPORT const Vocabulary* tokenizer(Data& data, const Str& file, const Str& name);
/// `i64[?]`, with what the file puts around a text.
LTR_EXPORT Tensor encode_text(const Vocabulary* tokens, const Str& text);
/// Without special tokens; R3007 for an id that there is not.
LTR_EXPORT Str decode_text(const Vocabulary* tokens, const Tensor& ids);
/// R3007 for a word that there is not.
LTR_EXPORT int64_t word_id(const Vocabulary* words, const Str& word);
/// In `step predict`: of each row of ids the words of the vocabulary `name` of the wired data, with `between` between them:
/// texts of a batch.
LTR_EXPORT Tensor decode_rows(const Context& cx, const Str& name, const Tensor& ids, const Str& between);

}  // namespace ltr
