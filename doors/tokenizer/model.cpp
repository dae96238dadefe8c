#include "doors/tokenizer/model.h"

#include <stdexcept>

namespace ltr::doors {

void refuse(const std::string& reason) { throw std::invalid_argument(reason); }

const nlohmann::json& field_of(const nlohmann::json& json, const char* name) {
  const auto found = json.is_object() ? json.find(name) : json.end();
  if (!json.is_object() || found == json.end()) refuse("there is no `" + std::string(name) + "`");
  return *found;
}

std::string byte_token(unsigned char byte) {
  constexpr const char* kDigits = "0123456789ABCDEF";
  return std::string("<0x") + kDigits[byte >> 4] + kDigits[byte & 15] + ">";
}

int64_t TokenModel::add(const std::string& token, int64_t id) {
  constexpr int64_t kMost = int64_t(1) << 31;
  if (id < 0 || id >= kMost) refuse("the token \"" + token + "\" has the id " + std::to_string(id));
  if (!ids_.emplace(token, id).second) refuse("the token \"" + token + "\" stands twice");
  return id;
}

std::unique_ptr<const TokenModel> read_model(const nlohmann::json& model) {
  std::string kind = field_or<std::string>(model, "type", "");
  // Files of the first years do not say it.
  if (kind.empty())
    kind = model.contains("merges") ? "BPE" : model.contains("continuing_subword_prefix") ? "WordPiece" : "WordLevel";
  if (kind == "BPE") return read_bpe(model);
  if (kind == "Unigram") return read_unigram(model);
  if (kind == "WordPiece") return read_word_piece(model);
  if (kind == "WordLevel") return read_word_level(model);
  refuse("the model `" + kind + "` is not known here: BPE, Unigram, WordPiece and WordLevel are");
}

}  // namespace ltr::doors
