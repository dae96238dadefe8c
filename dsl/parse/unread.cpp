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

/// What a line would have given a value, and the last line that it would have had it in.
struct Assigned {
  Line line;
  uint32_t last = 0;
  std::string name;
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
      if (unread.told.code == Code::E0201) look_around(line, unread.told);
      names_.insert(unread.names.begin(), unread.names.end());
    }
  }

  bool is_empty() const { return unread_.empty(); }

  bool is_consequence(const Diagnostic& one) const {
    if (one.span.source.index == 0) return false;
    const Line here = line_of(one.span);
    if (one.code != Code::E0202 && reached_.contains(here)) return true;
    const auto loose = loose_from_.find(here.first);
    if (one.code == Code::E0208 && loose != loose_from_.end() && loose->second < here.second) return true;
    if (!is_of_text(one.code) && (continued_.contains(here) || mentions_assigned(here))) return true;
    const auto line = unread_.find(here);
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

  /// What a line that goes wrong does to those around it.
  void look_around(const Line& line, const Diagnostic& told) {
    const std::string_view text = sources_.line_text({line.first}, line.second);
    const size_t begin = sources_.lines(told.span.source).begin_of(line.second);
    // What goes wrong with the call that it begins with may have been meant to go on with the line before.
    const bool is_first = text.substr(0, told.span.begin - begin).find_first_not_of(" \t") == std::string_view::npos;
    const bool is_called = text.substr(std::min(text.size(), told.span.end - begin)).starts_with('(');
    if (is_first && is_called && line.second > 1) continued_.emplace(line.first, line.second - 1);
    // A bracket that it closes without having opened it is missing further on.
    if (std::ranges::count(text, '}') > std::ranges::count(text, '{')) loose_from_.try_emplace(line.first, line.second);
    size_t from = indent_of(text);
    if (from == std::string_view::npos || from == 0) return;
    if (text.substr(from).starts_with("let ")) from += 4;
    const size_t to = size_t(std::ranges::find_if_not(text.substr(from), lex::is_name_char) - text.begin());
    const std::string_view rest = text.substr(std::min(text.find_first_not_of(' ', to), text.size()));
    const bool is_given = rest.starts_with(':') || (rest.starts_with('=') && !rest.starts_with("=="));
    const std::string_view word = text.substr(from, to - from);
    if (is_given && lex::find_word(word) == TokenKind::Name)
      assigned_.push_back({line, end_of_body(line), std::string(word)});
  }

  /// Whether a line of the same body behind it reads what a line would have given a value.
  bool mentions_assigned(const Line& line) const {
    const std::string_view text = sources_.line_text({line.first}, line.second);
    return std::ranges::any_of(assigned_, [&](const Assigned& one) {
      if (one.line.first != line.first || line.second <= one.line.second || line.second > one.last) return false;
      bool is_found = false;
      for_each_word(text,
                    [&](size_t from, size_t to) { is_found = is_found || text.substr(from, to - from) == one.name; });
      return is_found;
    });
  }

  static size_t indent_of(std::string_view text) { return text.find_first_not_of(' '); }

  /// The last line that is indented as deep as `line`.
  uint32_t end_of_body(const Line& line) const {
    const size_t indent = indent_of(sources_.line_text({line.first}, line.second));
    const uint32_t count = sources_.lines({line.first}).line_count();
    uint32_t last = line.second;
    while (last < count) {
      const size_t next = indent_of(sources_.line_text({line.first}, last + 1));
      if (next != std::string_view::npos && next < indent) break;
      ++last;
    }
    return last;
  }

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
  std::set<Line> reached_;                   ///< of what is open
  std::set<Line> continued_;                 ///< by what cannot be read
  std::map<uint32_t, uint32_t> loose_from_;  ///< by source: the line from which a `}` is one too many
  std::vector<Assigned> assigned_;
  std::set<std::string, std::less<>> names_;
};

}  // namespace

void withdraw_consequences(diagnostics::Sink& sink, const source::SourceManager& sources) {
  const Lines lines(sink, sources);
  if (lines.is_empty()) return;
  sink.withdraw([&](const Diagnostic& one) { return lines.is_consequence(one); });
}

}  // namespace ltr::parse
