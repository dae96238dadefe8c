#include <array>
#include <unordered_map>
#include <utility>

#include "doors/tokenizer/model.h"
#include "doors/tokenizer/pattern.h"
#include "doors/tokenizer/steps.h"
#include "doors/tokenizer/unicode.h"
#include "doors/utf8.h"

namespace ltr::doors {

namespace {

using Tokens = std::vector<std::string>;

/// The character that spells each byte: itself if it can be seen, else the next one from U+0100 on (GPT-2).
const std::array<std::string, 256>& spellings() {
  static const std::array<std::string, 256> all = [] {
    std::array<std::string, 256> made;
    char32_t next = 0x100;
    for (unsigned byte = 0; byte < 256; ++byte) {
      const bool is_seen = (byte > ' ' && byte < 0x7F) || (byte > 0xA0 && byte != 0xAD);
      append_char(made[byte], is_seen ? char32_t(byte) : next++);
    }
    return made;
  }();
  return all;
}

std::string joined(const Tokens& tokens) {
  std::string out;
  for (const std::string& token : tokens) out += token;
  return out;
}

Decoder each(std::function<std::string(std::string, size_t, size_t)> of) {
  return [of = std::move(of)](Tokens tokens) {
    for (size_t i = 0; i < tokens.size(); ++i) tokens[i] = of(std::move(tokens[i]), i, tokens.size());
    return tokens;
  };
}

/// English as it is written: no blanks before punctuation and contractions.
std::string tidied(std::string text) {
  constexpr std::pair<const char*, const char*> kWritten[] = {
      {" .", "."},   {" ?", "?"},           {" !", "!"},   {" ,", ","},     {" ' ", "'"},   {" n't", "n't"},
      {" 'm", "'m"}, {" do not", " don't"}, {" 's", "'s"}, {" 've", "'ve"}, {" 're", "'re"}};
  for (const auto& [from, to] : kWritten) text = Pattern::text(from).replaced(text, to);
  return text;
}

Decoder word_piece(const nlohmann::json& json) {
  const auto prefix = field_or<std::string>(json, "prefix", "##");
  const bool tidies = field_or(json, "cleanup", true);
  return each([=](std::string token, size_t i, size_t) {
    if (i > 0) token = token.starts_with(prefix) ? token.substr(prefix.size()) : " " + token;
    return tidies ? tidied(std::move(token)) : token;
  });
}

Decoder metaspace(const nlohmann::json& json) {
  const auto blank = Pattern::text(field_or<std::string>(json, "replacement", "▁"));
  const std::string scheme = read_prepend_scheme(json);
  return each([=](std::string token, size_t i, size_t) {
    return blank.replaced(token, i == 0 && scheme != "never" ? "" : " ");
  });
}

/// Tokens of bytes as the characters that they make.
Tokens with_bytes(Tokens tokens) {
  Tokens out;
  std::string bytes;
  const auto end_bytes = [&] {
    if (!first_not_utf8(bytes)) {
      if (!bytes.empty()) out.push_back(bytes);
    } else {
      for (size_t i = 0; i < bytes.size(); ++i) out.emplace_back("\xEF\xBF\xBD");
    }
    bytes.clear();
  };
  for (std::string& token : tokens) {
    const bool is_byte = token.size() == 6 && token.starts_with("<0x") && token[5] == '>' &&
                         token.find_first_not_of("0123456789abcdefABCDEF", 3) == 5;
    if (is_byte) {
      bytes += char(std::stoi(token.substr(3, 2), nullptr, 16));
      continue;
    }
    end_bytes();
    out.push_back(std::move(token));
  }
  end_bytes();
  return out;
}

Decoder strip(const nlohmann::json& json) {
  const auto what = field_or<std::string>(json, "content", " ");
  const auto at_left = field_or<int64_t>(json, "start", 0), at_right = field_or<int64_t>(json, "stop", 0);
  return each([=](std::string token, size_t, size_t) {
    for (int64_t i = 0; i < at_left && token.starts_with(what); ++i) token.erase(0, what.size());
    for (int64_t i = 0; i < at_right && token.ends_with(what); ++i) token.resize(token.size() - what.size());
    return token;
  });
}

}  // namespace

std::string spelt_bytes(std::string_view bytes) {
  std::string out;
  out.reserve(bytes.size() + bytes.size() / 4);
  for (const char c : bytes) out += spellings()[static_cast<unsigned char>(c)];
  return out;
}

std::string bytes_of_spelling(const std::string& token) {
  static const std::unordered_map<char32_t, char> bytes = [] {
    std::unordered_map<char32_t, char> made;
    for (unsigned byte = 0; byte < 256; ++byte) {
      size_t at = 0;
      made.emplace(next_char(spellings()[byte], at), char(byte));
    }
    return made;
  }();
  std::string out;
  for (size_t at = 0; at < token.size();) {
    const auto found = bytes.find(next_char(token, at));
    if (found == bytes.end()) return token;
    out += found->second;
  }
  return out;
}

Decoder read_decoder(const nlohmann::json& json) {
  if (json.is_null()) return {};
  const auto kind = field_or<std::string>(json, "type", "");
  if (kind == "Sequence") {
    std::vector<Decoder> all;
    for (const nlohmann::json& one : field_of(json, "decoders")) all.push_back(read_decoder(one));
    return [all = std::move(all)](Tokens tokens) {
      for (const Decoder& one : all) tokens = one(std::move(tokens));
      return tokens;
    };
  }
  if (kind == "ByteLevel") {
    return [](const Tokens& tokens) {
      std::string bytes;
      for (const std::string& token : tokens) bytes += bytes_of_spelling(token);
      return Tokens{valid_utf8(bytes)};
    };
  }
  if (kind == "WordPiece") return word_piece(json);
  if (kind == "Metaspace") return metaspace(json);
  if (kind == "ByteFallback") return with_bytes;
  if (kind == "Fuse") return [](const Tokens& tokens) { return Tokens{joined(tokens)}; };
  if (kind == "Strip") return strip(json);
  if (kind == "Replace") {
    return each([pattern = read_pattern(field_of(json, "pattern")), by = field_or<std::string>(json, "content", "")](
                    const std::string& token, size_t, size_t) { return pattern.replaced(token, by); });
  }
  if (kind == "BPEDecoder") {
    return each([suffix = Pattern::text(field_or<std::string>(json, "suffix", "</w>"))](const std::string& token,
                                                                                        size_t i, size_t count) {
      return suffix.replaced(token, i + 1 < count ? " " : "");
    });
  }
  refuse("the decoder `" + kind + "` is not known here");
}

}  // namespace ltr::doors
