#pragma once

// How the parts of a text become tokens.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include <nlohmann/json.hpp>

namespace ltr::doors {

/// Words are found by views of them.
struct TextHash {
  using is_transparent = void;
  size_t operator()(std::string_view text) const { return std::hash<std::string_view>()(text); }
};
template <typename Value>
using TextMap = std::unordered_map<std::string, Value, TextHash, std::equal_to<>>;

class TokenModel {
 public:
  virtual ~TokenModel() = default;
  /// Appends the ids of `part`, which is not empty. std::invalid_argument where a character has no token and the model no
  /// token for such.
  virtual void encode(std::string_view part, std::vector<int64_t>& ids) const = 0;

  const TextMap<int64_t>& ids() const { return ids_; }

 protected:
  std::optional<int64_t> find(std::string_view token) const {
    const auto found = ids_.find(token);
    return found == ids_.end() ? std::nullopt : std::optional(found->second);
  }
  int64_t add(const std::string& token, int64_t id);

  TextMap<int64_t> ids_;
};

/// The model of a `tokenizer.json`. std::invalid_argument for what is none, or is one that is not known here.
std::unique_ptr<const TokenModel> read_model(const nlohmann::json& model);

// Each kind; its file says what it does.
std::unique_ptr<const TokenModel> read_bpe(const nlohmann::json& model);
std::unique_ptr<const TokenModel> read_unigram(const nlohmann::json& model);
std::unique_ptr<const TokenModel> read_word_piece(const nlohmann::json& model);
std::unique_ptr<const TokenModel> read_word_level(const nlohmann::json& model);

/// `<0x0A>`, the token of a byte.
std::string byte_token(unsigned char byte);

/// Tells of a file that is not as it must be.
[[noreturn]] void refuse(const std::string& reason);
/// Field `name`, or `otherwise` where it is absent or null. std::invalid_argument if it has another type.
template <typename T>
T field_or(const nlohmann::json& json, const char* name, T otherwise) {
  const auto found = json.find(name);
  if (found == json.end() || found->is_null()) return otherwise;
  try {
    return found->get<T>();
  } catch (const nlohmann::json::exception&) {
    refuse("`" + std::string(name) + "` is " +
           found->dump(-1, ' ', false, nlohmann::json::error_handler_t::replace).substr(0, 60));
  }
}
const nlohmann::json& field_of(const nlohmann::json& json, const char* name);

}  // namespace ltr::doors
