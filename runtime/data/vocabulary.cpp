// Words of a stream and the numbers that stand for them.

#include <algorithm>
#include <unordered_map>

#include "ltr/facts.h"
#include "ltr/ops.h"
#include "runtime/api/error.h"
#include "runtime/data/texts.h"
#include "runtime/data/vocabulary.h"
#include "runtime/tensor/handle.h"
#include "runtime/tensor/step_watch.h"

namespace ltr {

namespace {

constexpr size_t kMockWords = 64;
constexpr const char* kUnknown = "<unk>";

/// The words of a text field, or of lists of words.
class Words : public Vocabulary {
 public:
  struct Rules {
    Option<int64_t> max;
    int64_t min_count = 1;
    std::vector<Str> special;
    bool skips = false;  ///< words that are not there are left out
  };

  /// `column`: the text field of `stream` whose words count; nothing if the stream delivers words.
  Words(Str name, const Stream& stream, Option<size_t> column, Rules rules, const Location& location)
      : Vocabulary(std::move(name), stream, location), column_(column), rules_(std::move(rules)) {
    const auto unknown = std::find(rules_.special.begin(), rules_.special.end(), kUnknown);
    if (unknown != rules_.special.end()) unknown_ = unknown - rules_.special.begin();
  }

  const char* unit() const override { return "word"; }
  int64_t size() const override { return int64_t(words().size()); }

  int64_t id(const Str& word) const override {
    need();
    const auto found = ids_.find(word);
    return found == ids_.end() ? -1 : found->second;
  }

  std::vector<int64_t> encode(const std::vector<Str>& text) const {
    std::vector<int64_t> ids;
    for (const Str& word : text) {
      const int64_t known = id(word);
      if (known < 0 && rules_.skips && unknown_ < 0) continue;
      ids.push_back(known < 0 ? unknown_ : known);
    }
    return ids;
  }

  Str text_of(const Ints& ids, const Str& between) const override {
    std::vector<Str> text;
    for (const int64_t one : ids) text.push_back(word(one));
    return join(text, between);
  }

  const Str& word(int64_t id) const {
    const auto count = int64_t(words().size());
    if (id >= 0 && id < count) return words_[size_t(id)];
    throw error_here(err::value_out_of_range,
                     fmt::format("{} has no word {}: its ids are 0 to {}", name(), id, count - 1));
  }

 protected:
  nlohmann::json compute() const override {
    std::unordered_map<Str, int64_t> counts;
    const StreamState& state = *stream().state();
    Record record;
    for (int64_t i = 0; !is_mock_data() && i < state.size(); ++i) {
      if (!state.read({.index = i, .ordered = true}, record)) continue;
      const std::vector<Str> text = column_ ? split(record[*column_].text, std::nullopt) : std::move(record[0].texts);
      for (const Str& word : text) ++counts[word];
    }
    for (size_t i = 0; is_mock_data() && i < kMockWords; ++i) counts[fmt::format("word {:02}", i)] = rules_.min_count;
    for (const Str& word : rules_.special) counts.erase(word);
    std::vector<std::pair<int64_t, Str>> sorted;
    for (const auto& [word, count] : counts) {
      if (count >= rules_.min_count) sorted.emplace_back(-count, word);
    }
    std::sort(sorted.begin(), sorted.end());
    nlohmann::json words = rules_.special;
    const auto limit = size_t(rules_.max.value_or(INT64_MAX));
    for (const auto& [count, word] : sorted) {
      if (words.size() >= limit) break;
      words.push_back(word);
    }
    return words;
  }

  void take(const nlohmann::json& json) const override {
    words_ = json.get<std::vector<Str>>();
    ids_.clear();
    for (size_t i = 0; i < words_.size(); ++i) ids_.emplace(words_[i], int64_t(i));
  }

  Str key() const override {
    return fmt::format("{} {} {}", rules_.max.value_or(-1), rules_.min_count, fmt::join(rules_.special, " "));
  }

 private:
  const std::vector<Str>& words() const {
    need();
    return words_;
  }

  Option<size_t> column_;
  Rules rules_;
  int64_t unknown_ = -1;
  mutable std::vector<Str> words_;
  mutable std::unordered_map<Str, int64_t> ids_;
};

const Vocabulary* make(Data& data, const Stream& stream, Option<size_t> column, const Option<int64_t>& max,
                       int64_t min_count, const std::vector<Str>& special, const Str& unknown, const Str& name) {
  if (max && *max < int64_t(special.size()) + 1)
    throw error_here(err::out_of_range, "vocab: max", *max,
                     fmt::format("more than the {} special words", special.size()));
  auto* made = new Words(name, stream, column, {max, min_count, special, unknown == "skip"}, current_location());
  data.known.push_back(made);
  return made;
}

Ints ids_of(const at::Tensor& ids) {
  refuse_plan(Unplanned::Decoded);
  const at::Tensor flat = ids.to(at::kCPU).to(at::kLong).flatten().contiguous();
  return {flat.const_data_ptr<int64_t>(), flat.const_data_ptr<int64_t>() + flat.numel()};
}

}  // namespace

const Vocabulary* vocab(Data& data, const Stream& stream, const Str& of, const Option<int64_t>& max, int64_t min_count,
                        const std::vector<Str>& special, const Str& unknown, const Str& name) {
  const Schema& schema = stream.state()->schema();
  const auto field = std::find_if(schema.begin(), schema.end(), [&](const FieldInfo& one) { return of == one.name; });
  if (field == schema.end()) throw error_here(err::schema_differs, "vocab", "there is no field " + of);
  return make(data, stream, size_t(field - schema.begin()), max, min_count, special, unknown, name);
}

const Vocabulary* vocab(Data& data, const Stream&, const Stream& words, const Option<int64_t>& max, int64_t min_count,
                        const std::vector<Str>& special, const Str& unknown, const Str& name) {
  return make(data, words, std::nullopt, max, min_count, special, unknown, name);
}

int64_t vocab_size(const Vocabulary* words) { return words->size(); }

// The checker gives these two the words of a stream alone.
Tensor encode_words(const Vocabulary* words, const std::vector<Str>& text) {
  return tensor_of(Ints(static_cast<const Words*>(words)->encode(text)), DType::I64);
}

std::vector<Str> decode_words(const Vocabulary* words, const Tensor& ids) {
  std::vector<Str> out;
  for (const int64_t id : ids_of(aten(ids))) out.push_back(static_cast<const Words*>(words)->word(id));
  return out;
}

Str decode_text(const Vocabulary* tokens, const Tensor& ids) { return tokens->text_of(ids_of(aten(ids)), ""); }

int64_t word_id(const Vocabulary* words, const Str& word) {
  const int64_t id = words->id(word);
  if (id >= 0) return id;
  const Error error =
      error_here(err::value_out_of_range, fmt::format("{} has no {} \"{}\"", words->name(), words->unit(), word));
  throw dynamic_cast<const Words*>(words) == nullptr ? error
                                                     : with_help(error, "a word among `special` is always there");
}

Tensor decode_rows(const Context& cx, const Str& name, const Tensor& ids, const Str& between) {
  const Vocabulary* words = nullptr;
  for (const Known* one : cx.data->known) {
    if (one->name() == name) words = dynamic_cast<const Vocabulary*>(one);
  }
  if (words == nullptr) throw error_here(err::schema_differs, "decode", "the data has no vocabulary " + name);
  return guarded([&] {
    const at::Tensor rows = aten(ids).to(at::kCPU);
    std::vector<Str> texts;
    for (int64_t i = 0; i < rows.size(0); ++i) texts.push_back(words->text_of(ids_of(rows[i]), between));
    return give(pack_texts(texts));
  });
}

}  // namespace ltr
