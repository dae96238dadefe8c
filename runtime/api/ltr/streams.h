#pragma once

// Sources and stages of `data` declarations, as generated code calls them. Arguments stand in the order of the
// declarations in stdlib/data/*.ltr; every argument is given.
// A source opens its files at once: what is wrong with them is an R3 error here, at the line that `ltr::at` named last.
// Stages are cheap: records are read when a loader asks for them.

#include "ltr/api.h"
#include "ltr/facts.h"
#include "ltr/sources.h"

namespace ltr {

// ---- sources -------------------------------------------------------------------------------------------------

/// Number of different characters, or 64 with `--mock-data`.
LTR_EXPORT int64_t character_count(const Stream& stream);
/// What `info.run` makes of `{i: int}`, for i from 0 to n.
LTR_EXPORT Stream synthetic(int64_t n, const Data* self, const MapInfo& info);

// ---- stages --------------------------------------------------------------------------------------------------

/// A compiled predicate.
struct FilterInfo {
  bool (*run)(const Data& self, const Record& in);
  const char* name = "";
  Location location;
};

/// `skip_bad`: how many records may be left out when `info.run` fails; without it the first ends the run.
LTR_EXPORT Stream map(const Stream& stream, const Data* self, const MapInfo& info,
                      const Option<int64_t>& skip_bad = {});
/// Evaluated once, here, as an index.
LTR_EXPORT Stream filter(const Stream& stream, const Data* self, const FilterInfo& info);
LTR_EXPORT Stream select(const Stream& stream, const std::vector<Str>& names);
/// The whole permutation, or one of blocks of `buffer` neighbours; another order each epoch or pass.
LTR_EXPORT Stream shuffle(const Stream& stream, int64_t seed, const Option<int64_t>& buffer = {});
/// Records drawn by weights: those of a field, or of a stream that delivers one for each. `count`: in an epoch.
LTR_EXPORT Stream sample(const Stream& stream, const Str& weights, int64_t seed, const Option<int64_t>& count,
                         bool replacement);
LTR_EXPORT Stream sample(const Stream& stream, const Stream& weights, int64_t seed, const Option<int64_t>& count,
                         bool replacement);
/// Records of all values in turns, by a field, or a stream that delivers one for each.
LTR_EXPORT Stream balance(const Stream& stream, const Str& by, int64_t seed, const Option<int64_t>& count);
LTR_EXPORT Stream balance(const Stream& stream, const Stream& by, int64_t seed, const Option<int64_t>& count);
/// All but part `fold` of `k`, and that part.
LTR_EXPORT std::vector<Stream> folds(const Stream& stream, int64_t k, int64_t fold, const Option<int64_t>& seed,
                                     const Option<Str>& by);
/// Parts of the given sizes, or shares (rounded by largest remainder). In file order without `seed`; `by` names
/// an `int`, `str` or integer field whose values are spread evenly.
LTR_EXPORT std::vector<Stream> split(const Stream& stream, const Ints& counts, const Option<int64_t>& seed,
                                     const Option<Str>& by);
LTR_EXPORT std::vector<Stream> split(const Stream& stream, const Floats& shares, const Option<int64_t>& seed,
                                     const Option<Str>& by);
/// `n` neighbours as one record: every field gets a first dim `n`.
LTR_EXPORT Stream window(const Stream& stream, int64_t n, int64_t stride);
LTR_EXPORT Stream take(const Stream& stream, int64_t n);
LTR_EXPORT Stream skip(const Stream& stream, int64_t n);
LTR_EXPORT Stream shard(const Stream& stream, int64_t index, int64_t count);
/// Endless without `n`.
LTR_EXPORT Stream repeat(const Stream& stream, const Option<int64_t>& n);
/// The fields of both. `length`: "equal", "min" or "cycle".
LTR_EXPORT Stream zip(const Stream& left, const Stream& right, const Str& length);
LTR_EXPORT Stream concat(const Stream& first, const Stream& second);
/// Streams in turns, by their shares, until the first of them has no more; equal ones without `weights`.
LTR_EXPORT Stream mix(const std::vector<Stream>& streams, const std::vector<double>& weights);
/// The text `of` of a record as `ids`, by the tokens of `tok`.
LTR_EXPORT Stream tokenize(const Stream& stream, const Vocabulary* tok, const Str& of);
/// The ids of all records, `end` behind each, in windows of `n`.
LTR_EXPORT Stream pack(const Stream& stream, int64_t n, int64_t end);
/// Keeps records as far as `limit_bytes` reach. `where` is "memory" or "disk".
LTR_EXPORT Stream cache(const Stream& stream, const Str& where, int64_t limit_bytes);
/// Batches that may be ready ahead of the trainer.
LTR_EXPORT Stream prefetch(const Stream& stream, int64_t n);
/// The same records, those of like size next to each other; `by` names a field with a length, or delivers one number for each
/// record of `stream`. `collate` behind it says how many make a batch.
LTR_EXPORT Stream bucket(const Stream& stream, const Str& by, int64_t width);
LTR_EXPORT Stream bucket(const Stream& stream, const Stream& by, int64_t width);
/// Batches of `size`: a first dim before every field; `int float bool` become `i64 float bool` tensors, texts `u8[B, W]`.
/// `pad` fills fields up whose last size differs, `pads` some of them with other values, to a multiple of `pad_to`; on the `side` "right"
/// or "left". `lengths` names fields and what holds their lengths.
LTR_EXPORT Stream collate(const Stream& stream, int64_t size, bool drop_last, const Option<double>& pad = {},
                          const std::vector<std::tuple<Str, Str>>& lengths = {},
                          const std::vector<std::tuple<Str, double>>& pads = {}, int64_t pad_to = 1,
                          const Str& side = "right");

}  // namespace ltr
