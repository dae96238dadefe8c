#include "doors/tokenizer/tokenizer.h"

#include <algorithm>
#include <array>
#include <mutex>
#include <shared_mutex>
#include <stdexcept>
#include <utility>

#include "doors/file.h"
#include "doors/json.h"
#include "doors/tokenizer/unicode.h"
#include "doors/utf8.h"

namespace ltr::doors {

namespace {

/// Numbers that stand for no token, below one that does.
constexpr int64_t kMostHoles = 1'000'000;

}  // namespace

/// What parts became: the words of a language are few. Each thread reads while none writes.
class Tokenizer::Cache {
 public:
  bool find(std::string_view part, std::vector<int64_t>& ids) const {
    const Shard& shard = of(part);
    const std::shared_lock lock(shard.mutex);
    const auto found = shard.known.find(part);
    if (found == shard.known.end()) return false;
    ids.insert(ids.end(), found->second.begin(), found->second.end());
    return true;
  }

  void put(std::string_view part, const int64_t* begin, const int64_t* end) {
    Shard& shard = of(part);
    const std::unique_lock lock(shard.mutex);
    if (shard.known.size() < kMost) shard.known.emplace(part, std::vector<int64_t>(begin, end));
  }

  static constexpr size_t kLongest = 256;  ///< bytes; what is longer hardly comes again

 private:
  static constexpr size_t kMost = 4096, kShards = 16;
  struct Shard {
    mutable std::shared_mutex mutex;
    TextMap<std::vector<int64_t>> known;
  };

  Shard& of(std::string_view part) { return shards_[TextHash()(part) >> 40 & (kShards - 1)]; }
  const Shard& of(std::string_view part) const { return shards_[TextHash()(part) >> 40 & (kShards - 1)]; }

  std::array<Shard, kShards> shards_;
};

Tokenizer::Tokenizer(std::string_view json, const std::string& path) : cache_(std::make_unique<Cache>()) {
  const nlohmann::json file = parse_json(json, path);
  try {
    read(file);
  } catch (const std::invalid_argument& error) {
    throw FormatError(path, 0, error.what());
  } catch (const nlohmann::json::exception& error) {
    throw FormatError(path, 0, std::string("it is no tokenizer: ") + error.what());
  }
}

Tokenizer::~Tokenizer() = default;

void Tokenizer::read(const nlohmann::json& file) {
  const auto part = [&](const char* name) {
    return file.is_object() ? file.value(name, nlohmann::json()) : nlohmann::json();
  };
  model_ = read_model(field_of(file, "model"));
  normalizer_ = read_normalizer(part("normalizer"));
  pre_tokenizer_ = read_pre_tokenizer(part("pre_tokenizer"));
  decoder_ = read_decoder(part("decoder"));
  read_tokens();
  for (const nlohmann::json& one : part("added_tokens")) {
    AddedToken token{field_or<int64_t>(one, "id", -1), field_or<std::string>(one, "content", ""),
                     field_or(one, "single_word", false), field_or(one, "lstrip", false),
                     field_or(one, "rstrip", false)};
    if (token.id < 0 || token.id > size() + kMostHoles)
      refuse("the added token \"" + token.text + "\" has the id " + std::to_string(token.id));
    if (token.id >= size()) {
      tokens_.resize(size_t(token.id) + 1);
      is_special_.resize(tokens_.size());
    }
    tokens_[size_t(token.id)] = token.text;
    is_special_[size_t(token.id)] = field_or(one, "special", false);
    const bool is_special = is_special_[size_t(token.id)];
    const bool is_normalized = field_or(one, "normalized", !is_special) && normalizer_;
    if (is_normalized) token.text = normalizer_(token.text);
    (is_normalized ? normalized_ : raw_).add(std::move(token));
  }
  read_around(part("post_processor"));
  for (const std::vector<int64_t>* side : {&before_, &behind_}) {
    for (const int64_t id : *side) {
      if (id < 0 || id >= size()) refuse("the post-processor puts token " + std::to_string(id) + " around a text");
    }
  }
}

void Tokenizer::read_tokens() {
  for (const auto& [token, id] : model_->ids()) {
    if (id > int64_t(model_->ids().size()) + kMostHoles)
      refuse("the token \"" + token + "\" has the id " + std::to_string(id));
    if (id >= size()) tokens_.resize(size_t(id) + 1);
    tokens_[size_t(id)] = token;
  }
  is_special_.resize(tokens_.size());
}

// Of one text alone; what is put around two is of no use here.
void Tokenizer::read_around(const nlohmann::json& json) {
  if (json.is_null()) return;
  const auto kind = field_or<std::string>(json, "type", "");
  if (kind == "Sequence") {
    for (const nlohmann::json& one : field_of(json, "processors")) read_around(one);
  } else if (kind == "BertProcessing" || kind == "RobertaProcessing") {
    before_.insert(before_.begin(), field_of(json, "cls").at(1).get<int64_t>());
    behind_.push_back(field_of(json, "sep").at(1).get<int64_t>());
  } else if (kind == "TemplateProcessing") {
    std::vector<int64_t> before;
    bool is_behind = false;
    const nlohmann::json& known = field_of(json, "special_tokens");
    for (const nlohmann::json& one : field_of(json, "single")) {
      is_behind = is_behind || one.contains("Sequence");
      if (!one.contains("SpecialToken")) continue;
      const auto ids = field_of(known, one["SpecialToken"].at("id").get<std::string>().c_str())
                           .at("ids")
                           .get<std::vector<int64_t>>();
      std::vector<int64_t>& side = is_behind ? behind_ : before;
      side.insert(side.end(), ids.begin(), ids.end());
    }
    before_.insert(before_.begin(), before.begin(), before.end());
  } else if (kind != "ByteLevel") {
    refuse("the post-processor `" + kind + "` is not known here");
  }
}

std::optional<int64_t> Tokenizer::id(std::string_view token) const {
  if (const auto found = model_->ids().find(token); found != model_->ids().end()) return found->second;
  const auto added = std::find(tokens_.begin(), tokens_.end(), token);
  return added == tokens_.end() ? std::nullopt : std::optional<int64_t>(added - tokens_.begin());
}

std::vector<int64_t> Tokenizer::encode(std::string_view text) const {
  std::string repaired;
  if (first_not_utf8(text)) text = repaired = valid_utf8(text);
  std::vector<int64_t> ids = before_;
  raw_.for_each_part(text, [&](size_t begin, size_t end, int64_t id) {
    if (id >= 0) {
      ids.push_back(id);
      return;
    }
    if (!normalizer_) {
      encode_plain(text.substr(begin, end - begin), begin == 0, ids);
      return;
    }
    const std::string normalized = normalizer_(std::string(text.substr(begin, end - begin)));
    normalized_.for_each_part(normalized, [&](size_t from, size_t to, int64_t added) {
      if (added >= 0) {
        ids.push_back(added);
      } else {
        encode_plain(std::string_view(normalized).substr(from, to - from), begin == 0 && from == 0, ids);
      }
    });
  });
  ids.insert(ids.end(), behind_.begin(), behind_.end());
  return ids;
}

void Tokenizer::encode_plain(std::string_view text, bool is_first, std::vector<int64_t>& ids) const {
  if (!pre_tokenizer_) {
    encode_part(text, ids);
    return;
  }
  std::vector<Part> parts;
  pre_tokenizer_({std::string(text), is_first}, parts);
  for (const Part& part : parts) encode_part(part.text, ids);
}

void Tokenizer::encode_part(std::string_view part, std::vector<int64_t>& ids) const {
  const bool is_kept = part.size() <= Cache::kLongest;
  if (is_kept && cache_->find(part, ids)) return;
  const size_t begin = ids.size();
  model_->encode(part, ids);
  if (is_kept) cache_->put(part, ids.data() + begin, ids.data() + ids.size());
}

std::string Tokenizer::decode(const std::vector<int64_t>& ids) const {
  std::vector<std::string> tokens;
  for (const int64_t id : ids) {
    if (id < 0 || id >= size() || !tokens_[size_t(id)])
      throw std::out_of_range("there is no token " + std::to_string(id));
    if (!is_special_[size_t(id)]) tokens.push_back(*tokens_[size_t(id)]);
  }
  const bool is_spaced = !decoder_;
  if (decoder_) tokens = decoder_(std::move(tokens));
  std::string text;
  for (size_t i = 0; i < tokens.size(); ++i) text += (is_spaced && i > 0 ? " " : "") + tokens[i];
  return text;
}

}  // namespace ltr::doors
