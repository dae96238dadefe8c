#pragma once

// Texts as tokens and back, as a Hugging Face `tokenizer.json` describes it: byte-level and SentencePiece-like BPE, Unigram,
// WordPiece and words, with the normalizers, pre-tokenizers, post-processors and decoders that these use. `truncation` and
// `padding` of the file are left to who makes batches.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "doors/tokenizer/added_tokens.h"
#include "doors/tokenizer/model.h"
#include "doors/tokenizer/steps.h"

namespace ltr::doors {

/// May be used by several threads at once.
class Tokenizer {
 public:
  /// Of the text of a file; `path` is for messages. FormatError for what is none, and for parts that are not known here, by
  /// their names.
  Tokenizer(std::string_view json, const std::string& path);
  ~Tokenizer();

  /// The ids of the tokens of `text`, between those that the file puts around one text. Parts of `text` that are no UTF-8 are
  /// U+FFFD. std::invalid_argument where a character has no token, and there is none for such.
  std::vector<int64_t> encode(std::string_view text) const;
  /// The text of tokens, without the special ones. std::out_of_range for an id that there is not.
  std::string decode(const std::vector<int64_t>& ids) const;

  /// One more than the largest id.
  int64_t size() const { return int64_t(tokens_.size()); }
  std::optional<int64_t> id(std::string_view token) const;

 private:
  class Cache;

  void read(const nlohmann::json& file);
  void read_tokens();
  void read_around(const nlohmann::json& post_processor);
  void encode_plain(std::string_view text, bool is_first, std::vector<int64_t>& ids) const;
  void encode_part(std::string_view part, std::vector<int64_t>& ids) const;

  Normalizer normalizer_;
  PreTokenizer pre_tokenizer_;
  Decoder decoder_;
  std::unique_ptr<const TokenModel> model_;
  AddedTokens raw_, normalized_;                    // Looked for before the normalizer, and behind it.
  std::vector<int64_t> before_, behind_;            // What stands around a text.
  std::vector<std::optional<std::string>> tokens_;  // By id.
  std::vector<bool> is_special_;
  std::unique_ptr<Cache> cache_;
};

}  // namespace ltr::doors
