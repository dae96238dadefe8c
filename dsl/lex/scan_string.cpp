#include <charconv>
#include <utility>

#include "dsl/lex/layout.h"
#include "dsl/lex/scanner.h"

namespace ltr::lex {

namespace {

void append_utf8(std::string& out, uint32_t code_point) {
  const auto put = [&](uint32_t byte) { out += static_cast<char>(static_cast<unsigned char>(byte)); };
  if (code_point < 0x80) {
    put(code_point);
  } else if (code_point < 0x800) {
    put(0xc0U | (code_point >> 6U));
    put(0x80U | (code_point & 0x3fU));
  } else if (code_point < 0x10000) {
    put(0xe0U | (code_point >> 12U));
    put(0x80U | ((code_point >> 6U) & 0x3fU));
    put(0x80U | (code_point & 0x3fU));
  } else {
    put(0xf0U | (code_point >> 18U));
    put(0x80U | ((code_point >> 12U) & 0x3fU));
    put(0x80U | ((code_point >> 6U) & 0x3fU));
    put(0x80U | (code_point & 0x3fU));
  }
}

}  // namespace

void Scanner::push_text(TokenKind kind, size_t begin, size_t end, std::string text) {
  push(kind, begin, end).value = static_cast<uint32_t>(out_.strings.size());
  out_.strings.push_back(std::move(text));
}

void Scanner::scan_string() {
  StringForm form;
  form.begin = at_;
  form.is_multi_line = starts_with("\"\"\"");
  form.terminator = form.is_multi_line ? "\"\"\"" : "\"";
  at_ += form.terminator.size();
  if (!form.is_multi_line && text_.substr(at_, text_.find('\n', at_) - at_).find('"') == std::string_view::npos) {
    scan_unclosed_string(form);
  } else {
    scan_string_body(form);
  }
}

// Nothing on the line closes it. It ends where an argument would, so that what stands behind is read as it was meant.
void Scanner::scan_unclosed_string(const StringForm& form) {
  int depth = 0;
  while (!at_line_end() && peek() != '#') {
    const char c = peek();
    if (depth == 0 && (c == ',' || c == ')' || c == ']')) break;
    depth += c == '(' || c == '[' ? 1 : c == ')' || c == ']' ? -1 : 0;
    ++at_;
  }
  while (at_ > form.begin + 1 && (text_[at_ - 1] == ' ' || text_[at_ - 1] == '\r')) --at_;
  report(diag::unterminated_string(span(form.begin, form.begin + 1))
             .help("a string ends on its line; `\"\"\"…\"\"\"` goes over several"));
  push_text(TokenKind::Str, form.begin, at_, std::string(text_.substr(form.begin + 1, at_ - form.begin - 1)));
}

void Scanner::scan_raw_string() {
  StringForm form;
  form.begin = at_;
  form.is_raw = true;
  ++at_;
  form.is_multi_line = starts_with("\"\"\"");
  form.terminator = form.is_multi_line ? "\"\"\"" : "\"";
  at_ += form.terminator.size();
  scan_string_body(form);
}

void Scanner::scan_smart_string() {
  StringForm form;
  form.begin = at_;
  const size_t length = smart_quote_length(text_.substr(at_));
  const Span quote = span(at_, at_ + length);
  diagnostics::Diagnostic diagnostic = diag::smart_quotes(quote, text_.substr(at_, length));
  diagnostic.fix(quote, "\"");
  // The other end, so that one fix mends both.
  for (size_t end = at_ + length; end < text_.size() && text_[end] != '\n'; ++end) {
    const size_t closing = smart_quote_length(text_.substr(end));
    if (closing == 0 && text_[end] != '"') continue;
    if (closing != 0) diagnostic.fix(span(end, end + closing), "\"");
    break;
  }
  report(std::move(diagnostic));
  at_ += length;
  scan_string_body(form);
}

void Scanner::scan_single_quoted() {
  const size_t begin = at_;
  size_t end = begin + 1;
  while (end < text_.size() && text_[end] != '\n' && text_[end] != '\'') end += text_[end] == '\\' ? 2 : 1;
  if (end >= text_.size() || text_[end] != '\'') {
    ++at_;
    report(diag::unknown_character(span(begin, at_), "`'`"));
    push(TokenKind::Error, begin, at_);
    return;
  }
  diagnostics::Diagnostic diagnostic = diag::single_quotes(span(begin, end + 1));
  const std::string_view content = text_.substr(begin + 1, end - begin - 1);
  if (content.find('"') == std::string_view::npos) {
    diagnostic.fix(span(begin, begin + 1), "\"").fix(span(end, end + 1), "\"");
  }
  report(std::move(diagnostic));
  StringForm form;
  form.begin = begin;
  form.terminator = "'";
  ++at_;
  scan_string_body(form);
}

size_t Scanner::end_of_string_at(const StringForm& form, size_t at) const {
  const std::string_view rest = text_.substr(at);
  if (!form.terminator.empty()) return rest.starts_with(form.terminator) ? at + form.terminator.size() : 0;
  if (rest.starts_with('"')) return at + 1;
  const size_t length = smart_quote_length(rest);
  return length != 0 ? at + length : 0;
}

void Scanner::scan_string_body(const StringForm& form) {
  // Without interpolation the literal is one `Str`; `StrBegin` is put in front when the first `{` shows.
  bool is_interpolated = false;
  bool is_broken = false;
  bool is_turned = false;
  std::string text;
  size_t text_begin = at_;
  const auto flush = [&] {
    if (text_begin == at_) return;
    push_text(TokenKind::StrText, text_begin, at_, std::exchange(text, {}));
  };
  for (;;) {
    if (at_end() || (peek() == '\n' && !form.is_multi_line)) {
      // Only the opening end is shown: the rest of the line, or of the file, says nothing.
      const size_t opener_end =
          form.begin + (form.is_multi_line ? 3 : character_length(form.begin)) + (form.is_raw ? 1 : 0);
      while (at_ > form.begin + 1 && peek() == '\n' && text_[at_ - 1] == '\r') --at_;
      diagnostics::Diagnostic diagnostic = diag::unterminated_string(span(form.begin, opener_end));
      if (!form.is_multi_line) diagnostic.help("a string ends on its line; `\"\"\"…\"\"\"` goes over several");
      if (!is_broken) report(std::move(diagnostic));
      if (!is_interpolated) {
        push_text(TokenKind::Str, form.begin, at_, std::move(text));
      } else {
        flush();
        push(TokenKind::StrEnd, at_, at_);
      }
      return;
    }
    if (const size_t end = end_of_string_at(form, at_); end != 0) {
      if (is_interpolated) {
        flush();
        push(TokenKind::StrEnd, at_, end);
        // The `{` of a string in this one, which was reported.
        if (end == unclosed_end_ && end < text_.size() && text_[end] == '{') push(TokenKind::Error, end, end);
      } else {
        push_text(TokenKind::Str, form.begin, end, std::move(text));
      }
      at_ = end;
      return;
    }
    if (peek() == '\\' && !form.is_raw) {
      scan_escape(form, text);
    } else if (peek() == '{' && !form.is_raw) {
      if (!is_interpolated) push(TokenKind::StrBegin, form.begin, text_begin);
      is_interpolated = true;
      flush();
      // A value that is never closed has taken the end of the string with it.
      is_broken = !scan_interpolation(form) && (at_end() || peek() == '\n');
      text_begin = at_;
    } else if (starts_with("\r\n")) {
      ++at_;  // A file may be saved with either end of line; the program is the same.
    } else {
      if (!is_turned && source::changes_direction(text_.substr(at_))) {
        report_directions(at_, at_ + 3, "string");
        is_turned = true;
      }
      text += peek();
      ++at_;
    }
  }
}

void Scanner::scan_escape(const StringForm& form, std::string& out) {
  const size_t begin = at_;
  ++at_;
  switch (peek()) {
    case 'n': out += '\n'; break;
    case 't': out += '\t'; break;
    case '"': out += '"'; break;
    case '\\': out += '\\'; break;
    case '{': out += '{'; break;
    case 'u': scan_unicode_escape(out, begin); return;
    default: {
      if (at_line_end()) return;  // The string is not closed, which says enough.
      at_ += character_length(at_);
      const std::string_view escape = text_.substr(begin, at_ - begin);
      diagnostics::Diagnostic diagnostic = diag::bad_escape(span(begin, at_), escape);
      if (escape == "\\'" && form.terminator == "'") {
        out += '\'';  // The quotes were reported; with others it needs no escape.
        return;
      }
      if (escape == "\\}" || escape == "\\'") {
        diagnostic.help("`{}` needs no escape", escape.substr(1)).fix(span(begin, at_), std::string(escape.substr(1)));
      } else {
        diagnostic.help("escapes are \\n \\t \\\" \\\\ \\{ and \\u{…}; `r\"…\"` is taken literally");
      }
      report(std::move(diagnostic));
      out += escape.substr(1);
      return;
    }
  }
  ++at_;
}

void Scanner::scan_unicode_escape(std::string& out, size_t begin) {
  ++at_;
  const auto fail = [&](std::string_view help) {
    report(diag::bad_escape(span(begin, at_), text_.substr(begin, at_ - begin)).help("{}", help));
  };
  if (peek() != '{') {
    fail("a character is written with its number in hexadecimal: `\\u{2265}`");
    return;
  }
  const size_t digits = ++at_;
  while (is_name_char(peek())) ++at_;
  uint32_t code_point = 0;
  const auto parsed = std::from_chars(text_.data() + digits, text_.data() + at_, code_point, 16);
  const bool is_whole = at_ > digits && parsed.ptr == text_.data() + at_;
  if (peek() == '}') ++at_;
  if (!is_whole || text_[at_ - 1] != '}') {
    fail("a character is written with its number in hexadecimal: `\\u{2265}`");
  } else if (parsed.ec != std::errc() || code_point > 0x10ffff || (code_point >= 0xd800 && code_point < 0xe000)) {
    fail("Unicode has no such character");
  } else {
    append_utf8(out, code_point);
  }
}

/// Whether a `"` between braces begins a string: nothing can end where a value has to follow, and another `"` is there.
bool Scanner::is_string_in_string(size_t first_token) const {
  const bool wants_value = out_.tokens.size() == first_token || joins_next_line(out_.tokens.back().kind);
  constexpr int kDeepest = 8;  // Further in it is no text of anybody.
  return wants_value && strings_within_ < kDeepest &&
         text_.substr(at_ + 1, text_.find('\n', at_) - at_ - 1).find('"') != std::string_view::npos;
}

/// `\"a\"` between braces, where a value is wanted.
void Scanner::skip_escaped_string() {
  const size_t begin = at_;
  at_ += 2;
  while (!at_line_end() && peek() != '"' && !starts_with("\\\"")) ++at_;
  if (starts_with("\\\"")) at_ += 2;
  std::string text(text_.substr(begin, at_ - begin));
  std::erase(text, '\\');
  report(diag::bad_interpolation(span(begin, at_), "no string may stand between the braces of a string")
             .help("give it a name above: `text = {}`", text)
             .help("a brace that is meant is written `\\{`"));
  push(TokenKind::Error, at_, at_);
}

bool Scanner::scan_interpolation(const StringForm& form) {
  const size_t begin = at_;
  push(TokenKind::InterpBegin, at_, at_ + 1);
  ++at_;
  const size_t first_token = out_.tokens.size();
  size_t depth = 0;
  while (!at_end()) {
    while (peek() == ' ' || peek() == '\t') {
      ++at_;
      after_space_ = true;
    }
    const char c = peek();
    if (c == '"' && is_string_in_string(first_token)) {
      const size_t inner = at_;
      const size_t first_inner = out_.tokens.size();
      ++strings_within_;
      scan_string();
      // Whatever it is given to, it was said that it may not be there.
      out_.tokens.resize(first_inner);
      push(TokenKind::Error, inner, at_);
      // The first in a string says it for all, and for those in them.
      if (--strings_within_ == 0 && std::exchange(told_string_, form.begin + 1) != form.begin + 1) {
        report(diag::bad_interpolation(span(inner, at_), "no string may stand between the braces of a string")
                   .help("give it a name above: `text = {}`", text_.substr(inner, at_ - inner))
                   .help("a brace that is meant is written `\\{`"));
      }
      continue;
    }
    if (c == '\\' && peek(1) == '"') {
      skip_escaped_string();
      continue;
    }
    if (at_line_end() || c == '"' || (end_of_string_at(form, at_) != 0)) break;
    if (depth == 0 && c == '!' && is_name_start(peek(1)) && peek(2) == '}') {
      report(diag::bad_interpolation(span(at_, at_ + 2), "`" + std::string(text_.substr(at_, 2)) + "` is Python")
                 .help("without it: a value is shown as `print` shows it")
                 .fix(span(at_, at_ + 2), ""));
      at_ += 2;
      continue;
    }
    if (depth == 0 && (c == '}' || c == ':')) {
      if (out_.tokens.size() == first_token) {
        const std::string_view rest = text_.substr(at_, text_.find('\n', at_) - at_);
        const bool is_filled = rest.find("\".format(") != std::string_view::npos;
        report(diag::bad_interpolation(span(begin, at_ + 1), "there is no value between the braces")
                   .help("{}", is_filled ? "the value stands there itself: `\"{x}\"`" : "a brace is written `\\{`"));
        push(TokenKind::Error, at_, at_);
      }
      if (c == ':') scan_format();
      if (peek() != '}') break;
      push(TokenKind::InterpEnd, at_, at_ + 1);
      ++at_;
      return true;
    }
    if (c == '#') {
      report(diag::bad_interpolation(span(at_, at_ + 1), "a comment cannot stand in a string"));
      while (!at_line_end() && peek() != '}' && peek() != '"') ++at_;
      continue;
    }
    if (c == '(' || c == '[' || c == '{') ++depth;
    if ((c == ')' || c == ']' || c == '}') && depth > 0) --depth;
    scan_token();
  }
  // What stands between the braces of a string in a string looks like strings, too: the first says it for all.
  const bool is_told = form.begin != 0 && form.begin == unclosed_end_ + 1 && text_[form.begin - 1] == '{';
  if (!is_told) {
    diagnostics::Diagnostic diagnostic =
        diag::bad_interpolation(span(begin, begin + 1), "`{` is never closed in this string");
    diagnostic.help("a brace is written `\\{`");
    if (peek() == '"') diagnostic.note("no string may stand between the braces");
    report(std::move(diagnostic));
  }
  unclosed_end_ = at_ + (peek() == '"' ? 1 : 0);
  push(TokenKind::Error, at_, at_);
  push(TokenKind::InterpEnd, at_, at_);
  return false;
}

void Scanner::scan_format() {
  const size_t begin = ++at_;
  while (!at_line_end() && peek() != '}' && peek() != '"') ++at_;
  const std::string_view format = text_.substr(begin, at_ - begin);
  // As in std::format: [[fill]align][sign][#][0][width][.precision][type].
  size_t i = 0;
  const auto is_align = [](char c) { return c == '<' || c == '>' || c == '^'; };
  if (format.size() > 1 && is_align(format[1])) {
    i = 2;
  } else if (!format.empty() && is_align(format[0])) {
    i = 1;
  }
  if (i < format.size() && (format[i] == '+' || format[i] == '-' || format[i] == ' ')) ++i;
  if (i < format.size() && format[i] == '#') ++i;
  while (i < format.size() && is_digit(format[i])) ++i;
  bool is_good = true;
  if (i < format.size() && format[i] == '.') {
    const size_t digits = ++i;
    while (i < format.size() && is_digit(format[i])) ++i;
    is_good = i > digits;
  }
  if (i < format.size() && std::string_view("aAbBcdeEfFgGosxX%").find(format[i]) != std::string_view::npos &&
      format[i] != '%') {
    ++i;
  }
  if (!is_good || i != format.size() || format.empty()) {
    report(diag::bad_interpolation(span(begin, at_ > begin ? at_ : begin + 1),
                                   "`" + std::string(format) + "` is not a format")
               .help("such as `{x:.3}`, `{n:03}`, `{x:.2e}`, `{name:>10}`"));
  }
  push_text(TokenKind::InterpFormat, begin, at_, std::string(format));
}

}  // namespace ltr::lex
