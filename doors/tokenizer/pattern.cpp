#include "doors/tokenizer/pattern.h"

#include <stdexcept>

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

namespace ltr::doors {

namespace {

/// The classes of the engine that tokenizers are written for, where PCRE2's are others: NEL is a space, and marks, digits and
/// connecting punctuation are parts of words, as letters are, but not all numbers.
std::string with_its_classes(const std::string& pattern) {
  const std::string space = "\\s\\x{85}", word = "\\p{Alphabetic}\\p{M}\\p{Nd}\\p{Pc}";
  std::string out;
  bool is_in_class = false;
  for (size_t i = 0; i < pattern.size(); ++i) {
    const char c = pattern[i];
    if (c != '\\' || i + 1 == pattern.size()) {
      if (c == '[' && !is_in_class) {
        is_in_class = true;
        // A bracket that comes first in a class closes nothing.
        const size_t first = i + 1 < pattern.size() && pattern[i + 1] == '^' ? i + 2 : i + 1;
        if (first < pattern.size() && pattern[first] == ']') {
          out.append(pattern, i, first - i);
          i = first;
          out += "\\]";
          continue;
        }
      } else if (c == ']') {
        is_in_class = false;
      }
      out += c;
      continue;
    }
    const char kind = pattern[++i];
    if (kind == 's' || kind == 'w') {
      const std::string& held = kind == 's' ? space : word;
      out += is_in_class ? held : "[" + held + "]";
    } else if ((kind == 'S' || kind == 'W') && !is_in_class) {
      out += "[^" + (kind == 'S' ? space : word) + "]";
    } else {
      out += c;
      out += kind;
    }
  }
  return out;
}

struct FreeCode {
  void operator()(pcre2_code* code) const { pcre2_code_free(code); }
};
struct FreeMatch {
  void operator()(pcre2_match_data* match) const { pcre2_match_data_free(match); }
};

}  // namespace

struct Pattern::Compiled {
  std::unique_ptr<pcre2_code, FreeCode> code;
};

Pattern Pattern::regex(const std::string& pattern) {
  const std::string ours = with_its_classes(pattern);
  int error = 0;
  size_t at = 0;
  auto compiled = std::make_shared<Compiled>();
  compiled->code.reset(pcre2_compile(reinterpret_cast<PCRE2_SPTR>(ours.data()), ours.size(), PCRE2_UTF | PCRE2_UCP,
                                     &error, &at, nullptr));
  if (compiled->code == nullptr) {
    PCRE2_UCHAR said[256] = {};
    pcre2_get_error_message(error, said, sizeof said);
    throw std::invalid_argument(reinterpret_cast<const char*>(said));
  }
  pcre2_jit_compile(compiled->code.get(), PCRE2_JIT_COMPLETE);  // Where there is none it is interpreted.
  Pattern made;
  made.compiled_ = std::move(compiled);
  return made;
}

Pattern Pattern::text(const std::string& text) {
  Pattern made;
  made.text_ = text;
  return made;
}

void Pattern::for_each_match(std::string_view text, const std::function<void(size_t, size_t)>& visit) const {
  if (compiled_ == nullptr) {
    if (text_.empty()) return;
    for (size_t at = text.find(text_); at != std::string_view::npos; at = text.find(text_, at + text_.size()))
      visit(at, at + text_.size());
    return;
  }
  const pcre2_code* code = compiled_->code.get();
  static thread_local std::unique_ptr<pcre2_match_data, FreeMatch> match{pcre2_match_data_create(1, nullptr)};
  const auto* subject = reinterpret_cast<PCRE2_SPTR>(text.data());
  for (size_t at = 0; at < text.size();) {
    const int found = pcre2_match(code, subject, text.size(), at, PCRE2_NO_UTF_CHECK, match.get(), nullptr);
    if (found == PCRE2_ERROR_NOMATCH) return;
    if (found < 0) throw std::runtime_error("a pattern needs too many steps for this text");
    const size_t* ends = pcre2_get_ovector_pointer(match.get());
    const size_t begin = ends[0], end = ends[1];
    if (end > begin) visit(begin, end);
    at = end > begin ? end : end + 1;
    while (at < text.size() && (text[at] & 0xC0) == 0x80) ++at;
  }
}

std::string Pattern::replaced(std::string_view text, std::string_view by) const {
  std::string out;
  size_t last = 0;
  for_each_match(text, [&](size_t begin, size_t end) {
    out.append(text.substr(last, begin - last)).append(by);
    last = end;
  });
  return out.append(text.substr(last));
}

}  // namespace ltr::doors
