#include "dsl/parse/unread.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>

#include "dsl/lex/scanner.h"
#include "dsl/parse/kind_set.h"

namespace ltr::parse {

namespace {

using diagnostics::Code;
using diagnostics::Diagnostic;
using Line = std::pair<uint32_t, uint32_t>;  // source, line

/// Whether what stands there is not understood. What another language would have written is: it is read as that.
bool is_unread(Code code) {
  return code == Code::E0102 || code == Code::E0105 || code == Code::E0106 || code == Code::E0201 ||
         code == Code::E0202 || code == Code::E0208;
}

/// Whether it is of the text and not of what it means.
bool is_of_text(Code code) { return diagnostics::to_text(code) < "E03"; }

/// What is wrong with the text of one line.
struct Unread {
  Diagnostic told;  ///< the one that stays
  std::set<std::string, std::less<>> names;
};

class Lines {
 public:
  Lines(const diagnostics::Sink& sink, const source::SourceManager& sources) : sources_(sources) {
    for (const Diagnostic& one : sink.reported()) {
      if (!is_unread(one.code) || one.span.source.index == 0) continue;
      Unread& line = unread_[line_of(one.span)];
      if (line.told.code == Code::None || comes_before(one, line.told)) line.told = one;
    }
    for (auto& [line, unread] : unread_) {
      // What an open bracket reaches over was read as something else.
      uint32_t last = line.second;
      for (const diagnostics::Label& label : unread.told.labels) {
        if (unread.told.code == Code::E0202) last = std::max(last, line_of(label.span).second);
      }
      for (uint32_t at = line.second; at <= last; ++at) {
        find_declared(sources_.line_text({line.first}, at), unread.names);
        if (at != line.second) reached_.emplace(line.first, at);
      }
      names_.insert(unread.names.begin(), unread.names.end());
    }
  }

  bool is_empty() const { return unread_.empty(); }

  bool is_consequence(const Diagnostic& one) const {
    if (one.span.source.index == 0) return false;
    if (one.code != Code::E0202 && reached_.contains(line_of(one.span))) return true;
    const auto line = unread_.find(line_of(one.span));
    if (line != unread_.end()) {
      const Diagnostic& told = line->second.told;
      const bool is_told = one.code == told.code && one.span == told.span && one.message == told.message;
      const bool is_beside = one.code == Code::E0106 && told.code == one.code;  // Each string is read for itself.
      if (!is_told && !is_beside && (!is_of_text(one.code) || is_unread(one.code))) return true;
    }
    return !is_of_text(one.code) && is_of_unread(sources_.text(one.span));
  }

 private:
  Line line_of(source::Span span) const { return {span.source.index, sources_.lines(span.source).line_of(span.begin)}; }

  static bool comes_before(const Diagnostic& one, const Diagnostic& other) {
    const bool is_string = one.code == Code::E0102;
    if (is_string != (other.code == Code::E0102)) return is_string;
    return one.span.begin < other.span.begin;
  }

  bool is_of_unread(std::string_view text) const {
    const auto* end = std::ranges::find_if_not(text, lex::is_name_char);
    return names_.contains(std::string_view(text.begin(), end));
  }

  /// Calls `take` with where each word begins and ends, up to a comment.
  static void for_each_word(std::string_view text, const auto& take) {
    for (size_t at = 0; at < text.size() && text[at] != '#';) {
      const size_t begin = at;
      while (at < text.size() && lex::is_name_char(text[at])) ++at;
      if (at == begin) {
        ++at;
      } else if (lex::is_name_start(text[begin])) {
        take(begin, at);
      }
    }
  }

  /// What a line would have declared: `lr` of `hparam lr float = 1e-2`, `x` of `fn f(x: float[B)`, `city` of `city str`.
  static void find_declared(std::string_view line, std::set<std::string, std::less<>>& names) {
    std::string_view before;
    size_t end_before = 0;
    for_each_word(line, [&](size_t begin, size_t end) {
      const std::string_view word = line.substr(begin, end - begin);
      const std::string_view rest = line.substr(std::min(line.find_first_not_of(' ', end), line.size()));
      const bool is_given = rest.starts_with('=') && !rest.starts_with("==") && !rest.starts_with("=>");
      if (is_given || rest.starts_with(':')) names.emplace(word);
      if (!before.empty() && line.find_first_not_of(' ', end_before) == begin) {
        const TokenKind kind = lex::find_word(before);
        if (!kStatementWords.has(kind)) names.emplace(kind == TokenKind::Name ? before : word);
      }
      before = word;
      end_before = end;
    });
  }

  const source::SourceManager& sources_;
  std::map<Line, Unread> unread_;
  std::set<Line> reached_;  ///< of what is open
  std::set<std::string, std::less<>> names_;
};

}  // namespace

void withdraw_consequences(diagnostics::Sink& sink, const source::SourceManager& sources) {
  const Lines lines(sink, sources);
  if (lines.is_empty()) return;
  sink.withdraw([&](const Diagnostic& one) { return lines.is_consequence(one); });
}

}  // namespace ltr::parse
