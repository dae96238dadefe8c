#include <utility>

#include "doors/tokenizer/model.h"
#include "doors/tokenizer/pattern.h"
#include "doors/tokenizer/steps.h"
#include "doors/tokenizer/unicode.h"

namespace ltr::doors {

namespace {

/// What a cut does with what it cuts at.
enum class Cut { Removed, Isolated, MergedWithPrevious, MergedWithNext, Contiguous };

Cut read_cut(const nlohmann::json& json, const char* name, const char* otherwise) {
  const auto text = field_or<std::string>(json, name, otherwise);
  if (text == "Removed") return Cut::Removed;
  if (text == "Isolated") return Cut::Isolated;
  if (text == "MergedWithPrevious") return Cut::MergedWithPrevious;
  if (text == "MergedWithNext") return Cut::MergedWithNext;
  if (text == "Contiguous") return Cut::Contiguous;
  refuse("the behavior `" + text + "` is not known here");
}

/// A stretch of a text: what was looked for, or what lies between.
struct Stretch {
  size_t begin = 0;
  size_t end = 0;
  bool is_match = false;
};
using Stretches = std::vector<Stretch>;

void cut_at(const Part& part, const Stretches& all, Cut how, std::vector<Part>& out) {
  Stretches kept;
  if (how == Cut::MergedWithNext) {
    bool was_match = false;
    for (auto one = all.rbegin(); one != all.rend(); ++one) {
      if (one->is_match && !was_match && !kept.empty()) {
        kept.back().begin = one->begin;
      } else {
        kept.push_back(*one);
      }
      was_match = one->is_match;
    }
    kept = {kept.rbegin(), kept.rend()};
  } else {
    bool was_match = false;
    for (const Stretch& one : all) {
      const bool joins = (how == Cut::MergedWithPrevious && one.is_match && !was_match) ||
                         (how == Cut::Contiguous && one.is_match == was_match);
      if (joins && !kept.empty()) {
        kept.back().end = one.end;
      } else if (how != Cut::Removed || !one.is_match) {
        kept.push_back(one);
      }
      was_match = one.is_match;
    }
  }
  for (const Stretch& one : kept) {
    if (one.end > one.begin)
      out.push_back({part.text.substr(one.begin, one.end - one.begin), part.is_first && one.begin == 0});
  }
}

/// Cuts at each match of `pattern`, or `inverted` at what lies between.
PreTokenizer split(Pattern pattern, Cut how, bool is_inverted = false) {
  return [=, pattern = std::move(pattern)](Part part, std::vector<Part>& out) {
    Stretches all;
    size_t last = 0;
    pattern.for_each_match(part.text, [&](size_t begin, size_t end) {
      if (begin > last) all.push_back({last, begin, is_inverted});
      all.push_back({begin, end, !is_inverted});
      last = end;
    });
    if (last < part.text.size()) all.push_back({last, part.text.size(), is_inverted});
    cut_at(part, all, how, out);
  };
}

/// Cuts at each character of a kind.
PreTokenizer split(bool (*is_meant)(char32_t), Cut how) {
  return [=](Part part, std::vector<Part>& out) {
    Stretches all;
    for (size_t at = 0; at < part.text.size();) {
      const size_t begin = at;
      const bool is_match = is_meant(next_char(part.text, at));
      if (!is_match && !all.empty() && !all.back().is_match) {
        all.back().end = at;
      } else {
        all.push_back({begin, at, is_match});
      }
    }
    cut_at(part, all, how, out);
  };
}

PreTokenizer one_after_the_other(std::vector<PreTokenizer> all) {
  return [all = std::move(all)](Part part, std::vector<Part>& out) {
    std::vector<Part> now, next;
    now.push_back(std::move(part));
    for (const PreTokenizer& one : all) {
      next.clear();
      for (Part& each : now) one(std::move(each), next);
      now.swap(next);
    }
    for (Part& each : now) out.push_back(std::move(each));
  };
}

// GPT-2's words: contractions, then letters, numbers or other signs with a blank before them, then white space.
constexpr const char* kBytePattern = R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";

PreTokenizer byte_level(const nlohmann::json& json) {
  const bool has_blank = field_or(json, "add_prefix_space", true);
  PreTokenizer cut;
  if (field_or(json, "use_regex", true)) cut = split(Pattern::regex(kBytePattern), Cut::Isolated);
  return [=](Part part, std::vector<Part>& out) {
    if (has_blank && part.text.front() != ' ') part.text.insert(0, 1, ' ');
    const size_t begin = out.size();
    if (cut) {
      cut(std::move(part), out);
    } else {
      out.push_back(std::move(part));
    }
    for (size_t i = begin; i < out.size(); ++i) out[i].text = spelt_bytes(out[i].text);
  };
}

PreTokenizer split_metaspace(const nlohmann::json& json) {
  const auto blank = field_or<std::string>(json, "replacement", "▁");
  const std::string scheme = read_prepend_scheme(json);
  PreTokenizer cut;
  if (field_or(json, "split", true)) cut = split(Pattern::text(blank), Cut::MergedWithNext);
  return [=, pattern = Pattern::text(" ")](Part part, std::vector<Part>& out) {
    part.text = pattern.replaced(part.text, blank);
    if ((scheme == "always" || (scheme == "first" && part.is_first)) && !part.text.starts_with(blank))
      part.text.insert(0, blank);
    if (cut) {
      cut(std::move(part), out);
    } else {
      out.push_back(std::move(part));
    }
  };
}

bool is_no_word(char32_t c) { return !is_word(c); }

/// Words, and what lies between them without white space.
PreTokenizer whitespace() {
  return one_after_the_other({split(is_space, Cut::Removed), split(is_no_word, Cut::Contiguous)});
}

}  // namespace

std::string read_prepend_scheme(const nlohmann::json& json) {
  // Older files have a switch.
  const bool is_put = field_or(json, "add_prefix_space", true);
  const auto scheme = field_or<std::string>(json, "prepend_scheme", is_put ? "always" : "never");
  if (scheme != "always" && scheme != "first" && scheme != "never")
    refuse("the prepend_scheme `" + scheme + "` is not known here");
  return scheme;
}

PreTokenizer read_pre_tokenizer(const nlohmann::json& json) {
  if (json.is_null()) return {};
  const auto kind = field_or<std::string>(json, "type", "");
  if (kind == "Sequence") {
    std::vector<PreTokenizer> all;
    for (const nlohmann::json& one : field_of(json, "pretokenizers")) all.push_back(read_pre_tokenizer(one));
    return one_after_the_other(std::move(all));
  }
  if (kind == "ByteLevel") return byte_level(json);
  if (kind == "Metaspace") return split_metaspace(json);
  if (kind == "Whitespace") return whitespace();
  if (kind == "WhitespaceSplit") return split(is_space, Cut::Removed);
  if (kind == "BertPreTokenizer")
    return one_after_the_other({split(is_space, Cut::Removed), split(is_punctuation, Cut::Isolated)});
  if (kind == "Punctuation") return split(is_punctuation, read_cut(json, "behavior", "Isolated"));
  if (kind == "Digits")
    return split(is_numeric, field_or(json, "individual_digits", false) ? Cut::Isolated : Cut::Contiguous);
  if (kind == "CharDelimiterSplit")
    return split(Pattern::text(field_or<std::string>(json, "delimiter", "")), Cut::Removed);
  if (kind == "Split")
    return split(read_pattern(field_of(json, "pattern")), read_cut(json, "behavior", ""),
                 field_or(json, "invert", false));
  refuse("the pre-tokenizer `" + kind + "` is not known here");
}

}  // namespace ltr::doors
