// WordPiece (Wu et al. 2016): the longest token that a word begins with, then the longest of the rest. And WordLevel: words
// that are tokens.

#include "doors/tokenizer/model.h"
#include "doors/tokenizer/unicode.h"

namespace ltr::doors {

namespace {

/// What both have: a vocabulary, and a token for what is not in it.
class Words : public TokenModel {
 protected:
  explicit Words(const nlohmann::json& json) {
    const nlohmann::json& vocab = field_of(json, "vocab");
    if (!vocab.is_object()) refuse("`vocab` is no object");
    for (const auto& [token, id] : vocab.items()) {
      if (!id.is_number_integer()) refuse("the token \"" + token + "\" has no number");
      add(token, id.get<int64_t>());
    }
    unknown_ = find(field_or<std::string>(json, "unk_token", "[UNK]"));
  }

  int64_t unknown(std::string_view word) const {
    if (!unknown_) refuse("\"" + std::string(word) + "\" has no token, and `unk_token` is not in the vocabulary");
    return *unknown_;
  }

 private:
  std::optional<int64_t> unknown_;
};

class WordPiece : public Words {
 public:
  explicit WordPiece(const nlohmann::json& json)
      : Words(json),
        prefix_(field_or<std::string>(json, "continuing_subword_prefix", "##")),
        longest_(field_or<int64_t>(json, "max_input_chars_per_word", 100)) {}

  void encode(std::string_view part, std::vector<int64_t>& ids) const override {
    int64_t chars = 0;
    for (const char c : part) chars += (c & 0xC0) != 0x80;
    const size_t begin = ids.size();
    std::string piece;
    for (size_t at = 0; at < part.size() && chars <= longest_;) {
      size_t end = part.size();
      std::optional<int64_t> found;
      for (; end > at; --end) {
        if (end < part.size() && (part[end] & 0xC0) == 0x80) continue;
        piece.assign(at > 0 ? prefix_ : "").append(part.substr(at, end - at));
        found = find(piece);
        if (found) break;
      }
      if (!found) break;
      ids.push_back(*found);
      at = end;
      if (at == part.size()) return;
    }
    ids.resize(begin);
    ids.push_back(unknown(part));
  }

 private:
  std::string prefix_;
  int64_t longest_;
};

class WordLevel : public Words {
 public:
  explicit WordLevel(const nlohmann::json& json) : Words(json) {}

  void encode(std::string_view part, std::vector<int64_t>& ids) const override {
    const auto found = find(part);
    ids.push_back(found ? *found : unknown(part));
  }
};

}  // namespace

std::unique_ptr<const TokenModel> read_word_piece(const nlohmann::json& model) {
  return std::make_unique<WordPiece>(model);
}
std::unique_ptr<const TokenModel> read_word_level(const nlohmann::json& model) {
  return std::make_unique<WordLevel>(model);
}

}  // namespace ltr::doors
