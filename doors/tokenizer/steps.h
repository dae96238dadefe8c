#pragma once

// What is done to a text before a model reads it, and to tokens behind it: the normalizer, the pre-tokenizer and the decoder of
// a `tokenizer.json`.

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include "doors/tokenizer/pattern.h"

namespace ltr::doors {

/// A text as another one.
using Normalizer = std::function<std::string(std::string)>;

/// A part of a text that is cut further. `is_first`: it begins where the text does.
struct Part {
  std::string text;
  bool is_first = false;
};
/// The parts of a part, in order; none is empty.
using PreTokenizer = std::function<void(Part, std::vector<Part>&)>;

/// Tokens as texts that are then joined.
using Decoder = std::function<std::vector<std::string>(std::vector<std::string>)>;

// Each is empty for null. std::invalid_argument for what is none, or is one that is not known here.
Normalizer read_normalizer(const nlohmann::json& json);
PreTokenizer read_pre_tokenizer(const nlohmann::json& json);
Decoder read_decoder(const nlohmann::json& json);

// What several of them have.
/// `{"String": "…"}` or `{"Regex": "…"}`.
Pattern read_pattern(const nlohmann::json& json);
/// Where Metaspace puts a mark in front of a text: "always", "first" or "never".
std::string read_prepend_scheme(const nlohmann::json& json);

// Byte-level tokens are spelt with a printable character for each byte.
std::string spelt_bytes(std::string_view bytes);
/// The bytes of a token; the token itself where a character of it stands for no byte.
std::string bytes_of_spelling(const std::string& token);

}  // namespace ltr::doors
