#include "dsl/lex/token.h"

#include <algorithm>
#include <array>
#include <unordered_map>

namespace ltr::lex {

namespace {

enum class Class : uint8_t { Other, Punctuation, Reserved, Keyword };

struct KindInfo {
  std::string_view name;
  std::string_view text;
  Class kind_class = Class::Other;
};

constexpr std::array kKinds = {
#define LTR_TOKEN(name, text) KindInfo{#name, text, Class::Other},
#define LTR_PUNCTUATION(name, text) KindInfo{#name, text, Class::Punctuation},
#define LTR_RESERVED(name, text) KindInfo{#name, text, Class::Reserved},
#define LTR_KEYWORD(name, text) KindInfo{#name, text, Class::Keyword},
#include "dsl/lex/token_kind.def"
};

const KindInfo& info(TokenKind kind) { return kKinds[static_cast<size_t>(kind)]; }

}  // namespace

std::string_view name_of(TokenKind kind) { return info(kind).name; }

std::string describe(TokenKind kind) {
  const KindInfo& row = info(kind);
  return row.kind_class == Class::Other ? std::string(row.text) : "`" + std::string(row.text) + "`";
}

std::string_view spelling(TokenKind kind) {
  const KindInfo& row = info(kind);
  return row.kind_class == Class::Other ? std::string_view() : row.text;
}

bool is_reserved(TokenKind kind) { return info(kind).kind_class == Class::Reserved; }
bool is_keyword(TokenKind kind) { return info(kind).kind_class == Class::Keyword; }

TokenKind find_word(std::string_view word) {
  static const auto kWords = [] {
    std::unordered_map<std::string_view, TokenKind> words;
#define LTR_RESERVED(name, text) words.emplace(text, TokenKind::name);
#define LTR_KEYWORD(name, text) words.emplace(text, TokenKind::name);
#include "dsl/lex/token_kind.def"
    return words;
  }();
  const auto found = kWords.find(word);
  return found != kWords.end() ? found->second : TokenKind::Name;
}

const std::vector<std::string_view>& all_words() {
  static const std::vector<std::string_view> kWords = {
#define LTR_RESERVED(name, text) text,
#define LTR_KEYWORD(name, text) text,
#include "dsl/lex/token_kind.def"
  };
  return kWords;
}

const std::string* TokenBuffer::find_doc(uint32_t owner_begin) const {
  const auto found = std::lower_bound(docs.begin(), docs.end(), owner_begin,
                                      [](const Doc& doc, uint32_t begin) { return doc.owner_begin < begin; });
  return found != docs.end() && found->owner_begin == owner_begin ? &found->text : nullptr;
}

const BracketPair* TokenBuffer::find_bracket(uint32_t token) const {
  const auto found = std::lower_bound(brackets.begin(), brackets.end(), token,
                                      [](const BracketPair& pair, uint32_t t) { return pair.opener < t; });
  return found != brackets.end() && found->opener == token ? &*found : nullptr;
}

}  // namespace ltr::lex
