#include "doors/tokenizer/added_tokens.h"

#include <algorithm>
#include <utility>

#include "doors/tokenizer/unicode.h"

namespace ltr::doors {

namespace {

/// Where the character begins that ends at byte `end`.
size_t before(std::string_view text, size_t end) {
  do {
    --end;
  } while (end > 0 && (text[end] & 0xC0) == 0x80);
  return end;
}

bool is_word_at(std::string_view text, size_t at) { return at < text.size() && is_word(next_char(text, at)); }

bool is_word_before(std::string_view text, size_t end) {
  if (end == 0) return false;
  size_t at = before(text, end);
  return is_word(next_char(text, at));
}

}  // namespace

void AddedTokens::add(AddedToken token) {
  if (token.text.empty()) return;
  std::vector<AddedToken>& beside = by_first_[static_cast<unsigned char>(token.text[0])];
  const auto place = std::find_if(beside.begin(), beside.end(),
                                  [&](const AddedToken& other) { return other.text.size() < token.text.size(); });
  beside.insert(place, std::move(token));
  is_empty_ = false;
}

const AddedToken* AddedTokens::find(std::string_view text, size_t at) const {
  for (const AddedToken& token : by_first_[static_cast<unsigned char>(text[at])]) {
    if (text.substr(at).starts_with(token.text)) return &token;
  }
  return nullptr;
}

void AddedTokens::for_each_part(std::string_view text,
                                const std::function<void(size_t, size_t, int64_t)>& visit) const {
  size_t last = 0;
  for (size_t at = 0; !is_empty_ && at < text.size();) {
    const AddedToken* token = find(text, at);
    if (token == nullptr) {
      ++at;
      continue;
    }
    size_t begin = at, end = at + token->text.size();
    at = end;
    if (token->is_word && (is_word_before(text, begin) || is_word_at(text, end))) continue;
    while (token->takes_left && begin > last) {
      const size_t left = before(text, begin);
      size_t behind = left;
      if (!is_space(next_char(text, behind))) break;
      begin = left;
    }
    while (token->takes_right && end < text.size()) {
      size_t behind = end;
      if (!is_space(next_char(text, behind))) break;
      end = behind;
    }
    if (begin > last) visit(last, begin, -1);
    visit(begin, end, token->id);
    last = end;
    at = std::max(at, end);
  }
  if (last < text.size()) visit(last, text.size(), -1);
}

}  // namespace ltr::doors
