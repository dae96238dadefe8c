#include "runtime/plan/einsum_pattern.h"

#include <algorithm>
#include <map>

namespace ltr::plan {

namespace {

/// Without `->` the letters that occur once are kept, in alphabetical order, behind the dots.
Str implied_result(const std::vector<Str>& factors) {
  std::map<char, int> counts;
  Str result;
  for (const Str& letters : factors) {
    for (const char letter : letters) ++counts[letter];
    if (letters.find("...") != Str::npos) result = "...";
  }
  counts.erase('.');
  for (const auto& [letter, count] : counts) {
    if (count == 1) result += letter;
  }
  return result;
}

std::vector<Str> listed(const Str& text) {
  std::vector<Str> parts(1);
  for (const char letter : text) {
    if (letter == ',') {
      parts.emplace_back();
    } else {
      parts.back() += letter;
    }
  }
  return parts;
}

}  // namespace

/// Letters for the dots of a factor of `rank` axes stand for the last ones of those of all.
EinsumPattern read_einsum(Str text, const std::vector<size_t>& ranks) {
  std::erase(text, ' ');
  const size_t arrow = text.find("->");
  EinsumPattern pattern{listed(text.substr(0, arrow)), {}};
  pattern.result = arrow == Str::npos ? implied_result(pattern.factors) : text.substr(arrow + 2);
  constexpr std::string_view kDots = "...";
  const auto hidden = [&](size_t i) { return ranks[i] + kDots.size() - pattern.factors[i].size(); };
  size_t most = 0;
  for (size_t i = 0; i < ranks.size(); ++i) {
    if (pattern.factors[i].find(kDots) != Str::npos) most = std::max(most, hidden(i));
  }
  Str dots;
  for (const char letter : Str("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ")) {
    if (dots.size() < most && text.find(letter) == Str::npos) dots += letter;
  }
  const auto name = [&](Str& letters, size_t count) {
    const size_t at = letters.find(kDots);
    if (at != Str::npos) letters.replace(at, kDots.size(), dots.substr(dots.size() - std::min(count, dots.size())));
  };
  for (size_t i = 0; i < ranks.size(); ++i) name(pattern.factors[i], hidden(i));
  name(pattern.result, most);
  return pattern;
}

}  // namespace ltr::plan
