#include <memory>

#include "doors/tokenizer/charsmap.h"
#include "doors/tokenizer/model.h"
#include "doors/tokenizer/pattern.h"
#include "doors/tokenizer/steps.h"
#include "doors/tokenizer/unicode.h"

namespace ltr::doors {

namespace {

std::string filtered(std::string_view text, bool (*is_left_out)(char32_t)) {
  std::string out;
  for (size_t at = 0; at < text.size();) {
    const size_t begin = at;
    if (!is_left_out(next_char(text, at))) out += text.substr(begin, at - begin);
  }
  return out;
}

/// Han characters, each of which is a word (those that BERT takes for such).
bool is_han(char32_t c) {
  return (c >= 0x4E00 && c <= 0x9FFF) || (c >= 0x3400 && c <= 0x4DBF) || (c >= 0x20000 && c <= 0x2A6DF) ||
         (c >= 0x2A700 && c <= 0x2B73F) || (c >= 0x2B740 && c <= 0x2B81F) || (c >= 0x2B920 && c <= 0x2CEAF) ||
         (c >= 0xF900 && c <= 0xFAFF) || (c >= 0x2F800 && c <= 0x2FA1F);
}

/// No control characters, and all white space is blanks.
std::string cleaned(std::string_view text) {
  std::string out;
  for (size_t at = 0; at < text.size();) {
    const size_t begin = at;
    const char32_t c = next_char(text, at);
    const bool is_kept_control = c == '\t' || c == '\n' || c == '\r';
    if (c == 0xFFFD || (is_other(c) && !is_kept_control)) continue;
    if (is_space(c)) {
      out += ' ';
    } else {
      out += text.substr(begin, at - begin);
    }
  }
  return out;
}

std::string with_blanks_at_han(std::string_view text) {
  std::string out;
  for (size_t at = 0; at < text.size();) {
    const size_t begin = at;
    const bool is_word = is_han(next_char(text, at));
    if (is_word) out += ' ';
    out += text.substr(begin, at - begin);
    if (is_word) out += ' ';
  }
  return out;
}

Normalizer bert(const nlohmann::json& json) {
  const bool cleans = field_or(json, "clean_text", true), lowers = field_or(json, "lowercase", true);
  const bool parts_han = field_or(json, "handle_chinese_chars", true);
  const bool strips = field_or(json, "strip_accents", lowers);
  return [=](std::string text) {
    if (cleans) text = cleaned(text);
    if (parts_han) text = with_blanks_at_han(text);
    if (strips) text = filtered(normal_form(text, Form::Nfd), is_nonspacing_mark);
    return lowers ? lowercase(text) : text;
  };
}

Normalizer strip(bool at_left, bool at_right) {
  return [=](std::string text) {
    size_t begin = 0, end = 0;
    bool is_begun = !at_left;
    for (size_t at = 0; at < text.size();) {
      const size_t here = at;
      if (is_space(next_char(text, at))) continue;
      if (!is_begun) begin = here;
      is_begun = true;
      end = at;
    }
    if (!at_right) end = text.size();
    return is_begun && end > begin ? text.substr(begin, end - begin) : std::string();
  };
}

}  // namespace

Pattern read_pattern(const nlohmann::json& json) {
  if (json.is_object() && json.contains("String")) return Pattern::text(json["String"]);
  if (json.is_object() && json.contains("Regex")) return Pattern::regex(json["Regex"]);
  refuse("a pattern is no text and no regex");
}

Normalizer read_normalizer(const nlohmann::json& json) {
  if (json.is_null()) return {};
  const auto kind = field_or<std::string>(json, "type", "");
  if (kind == "Sequence") {
    std::vector<Normalizer> all;
    for (const nlohmann::json& one : field_of(json, "normalizers")) all.push_back(read_normalizer(one));
    return [all = std::move(all)](std::string text) {
      for (const Normalizer& one : all) text = one(std::move(text));
      return text;
    };
  }
  if (kind == "NFC") return [](std::string text) { return normal_form(text, Form::Nfc); };
  if (kind == "NFD") return [](std::string text) { return normal_form(text, Form::Nfd); };
  if (kind == "NFKC") return [](std::string text) { return normal_form(text, Form::Nfkc); };
  if (kind == "NFKD") return [](std::string text) { return normal_form(text, Form::Nfkd); };
  if (kind == "Lowercase") return [](std::string text) { return lowercase(text); };
  if (kind == "StripAccents") return [](std::string text) { return filtered(text, is_mark); };
  if (kind == "BertNormalizer") return bert(json);
  if (kind == "Strip") return strip(field_or(json, "strip_left", true), field_or(json, "strip_right", true));
  if (kind == "Prepend") {
    return [before = field_or<std::string>(json, "prepend", "")](std::string text) {
      return text.empty() ? text : before + text;
    };
  }
  if (kind == "Replace") {
    return [pattern = read_pattern(field_of(json, "pattern")),
            by = field_or<std::string>(json, "content", "")](std::string text) { return pattern.replaced(text, by); };
  }
  if (kind == "Precompiled") {
    const auto map = std::make_shared<const Charsmap>(field_or<std::string>(json, "precompiled_charsmap", ""));
    return [map](std::string text) { return map->normalize(text); };
  }
  refuse("the normalizer `" + kind + "` is not known here");
}

}  // namespace ltr::doors
