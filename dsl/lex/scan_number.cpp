#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>

#include "dsl/diagnostics/suggest.h"
#include "dsl/host/unit.h"
#include "dsl/lex/scanner.h"

namespace ltr::lex {

namespace {

bool is_hex_digit(char c) { return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F'); }

/// Whether `text` has `word` at another place than `here`, outside of comments.
bool stands_elsewhere(std::string_view text, size_t here, std::string_view word) {
  for (size_t at = text.find(word); at != std::string_view::npos; at = text.find(word, at + 1)) {
    const size_t end = at + word.size();
    const size_t line = at == 0 ? 0 : text.rfind('\n', at - 1) + 1;  // behind the end of the line before, or 0
    const bool is_whole = (at == 0 || !is_name_char(text[at - 1])) && (end == text.size() || !is_name_char(text[end]));
    const bool is_comment = text.substr(line, at - line).find('#') != std::string_view::npos;
    if (is_whole && !is_comment && at != here) return true;
  }
  return false;
}

/// `_` stands between two digits only.
bool has_stray_underscore(std::string_view digits) {
  for (size_t i = 0; i < digits.size(); ++i) {
    if (digits[i] != '_') continue;
    if (i == 0 || i + 1 == digits.size() || !is_hex_digit(digits[i - 1]) || !is_hex_digit(digits[i + 1])) return true;
  }
  return false;
}

std::string without_underscores(std::string_view digits) {
  std::string out(digits);
  std::erase(out, '_');
  return out;
}

}  // namespace

void Scanner::report_number(size_t begin, std::string_view reason) {
  report(diag::bad_number(span(begin, at_), text_.substr(begin, at_ - begin), reason));
  push(TokenKind::Error, begin, at_);
}

void Scanner::scan_number() {
  const size_t begin = at_;
  if (peek() == '0' && (peek(1) == 'x' || peek(1) == 'X')) {
    scan_hex(begin);
    return;
  }
  bool is_float = false;
  const auto digits = [&] {
    while (is_digit(peek()) || (peek() == '_' && (is_digit(peek(1)) || peek(1) == '_' || !is_name_char(peek(1)))))
      ++at_;
  };
  digits();
  // `0..4` is a range, and `1.item()` a field.
  if (peek() == '.' && is_digit(peek(1))) {
    is_float = true;
    ++at_;
    digits();
  } else if (peek() == '.' && peek(1) != '.' && !is_name_start(peek(1))) {
    ++at_;
    report(diag::bad_number(span(begin, at_), text_.substr(begin, at_ - begin), "a digit must follow the point")
               .fix(span(at_, at_), "0"));
    push(TokenKind::Float, begin, at_).value = static_cast<uint32_t>(out_.floats.size());
    out_.floats.push_back(0);
    return;
  }
  if (peek() == 'e' || peek() == 'E') {
    const size_t sign = peek(1) == '+' || peek(1) == '-' ? 1 : 0;
    if (is_digit(peek(1 + sign))) {
      is_float = true;
      at_ += 1 + sign;
      digits();
    } else if (sign == 1 || !is_name_char(peek(1))) {
      at_ += 1 + sign;
      report_number(begin, "the exponent has no digits");
      return;
    }
  }
  const std::string_view written = text_.substr(begin, at_ - begin);
  if (has_stray_underscore(written)) {
    report_number(begin, "`_` stands between two digits");
    return;
  }
  const std::string plain = without_underscores(written);
  if (is_float) {
    double value = 0;
    const auto parsed = std::from_chars(plain.data(), plain.data() + plain.size(), value);
    // Too small is nothing to complain about: it rounds to zero, like any other value to its neighbour.
    if (parsed.ec == std::errc::result_out_of_range) value = std::strtod(plain.c_str(), nullptr);
    if (std::isinf(value)) {
      report_number(begin, "larger than a 64-bit float holds");
      return;
    }
    push(TokenKind::Float, begin, at_).value = static_cast<uint32_t>(out_.floats.size());
    out_.floats.push_back(value);
  } else {
    int64_t value = 0;
    const auto parsed = std::from_chars(plain.data(), plain.data() + plain.size(), value);
    if (parsed.ec == std::errc::result_out_of_range) {
      report_number(begin, "larger than a 64-bit integer holds");
      return;
    }
    push(TokenKind::Int, begin, at_).value = static_cast<uint32_t>(out_.ints.size());
    out_.ints.push_back(value);
  }
  scan_unit(begin);
}

void Scanner::scan_hex(size_t begin) {
  at_ += 2;
  while (is_name_char(peek())) ++at_;
  const std::string_view written = text_.substr(begin + 2, at_ - begin - 2);
  const std::string plain = without_underscores(written);
  uint64_t value = 0;
  const auto parsed = std::from_chars(plain.data(), plain.data() + plain.size(), value, 16);
  if (plain.empty() || parsed.ptr != plain.data() + plain.size() || has_stray_underscore(written)) {
    report_number(begin, "hexadecimal digits are 0 to 9 and a to f");
  } else if (parsed.ec == std::errc::result_out_of_range || value > static_cast<uint64_t>(INT64_MAX)) {
    report_number(begin, "larger than a 64-bit integer holds");
  } else {
    push(TokenKind::Int, begin, at_).value = static_cast<uint32_t>(out_.ints.size());
    out_.ints.push_back(static_cast<int64_t>(value));
  }
}

void Scanner::scan_unit(size_t number_begin) {
  size_t begin = at_;
  while (begin < text_.size() && (text_[begin] == ' ' || text_[begin] == '\t')) ++begin;
  size_t end = begin;
  while (end < text_.size() && is_name_char(text_[end])) ++end;
  if (end == begin || is_digit(text_[begin])) return;
  const std::string_view word = text_.substr(begin, end - begin);
  const bool is_glued = begin == at_;
  const host::Unit* known = host::find_unit(word);
  const bool is_known = known != nullptr;
  // `"` glued to a word is a string with a prefix; a word that may follow an expression is no unit.
  if (!is_known && !is_glued && (find_word(word) != TokenKind::Name || (end < text_.size() && text_[end] == '"')))
    return;
  // `kernel = 3 padding = 1` lacks a comma: the word begins what follows.
  size_t next = end;
  while (next < text_.size() && (text_[next] == ' ' || text_[next] == '\t')) ++next;
  const bool is_assigned =
      next < text_.size() && text_[next] == '=' && !(next + 1 < text_.size() && text_[next + 1] == '=');
  if (!is_known && !is_glued && is_assigned) return;
  // Words that other languages or our own messages know better than "unknown unit".
  if (!is_known && !is_glued && (word == "is" || word == "elif")) return;

  std::string unit;
  if (is_known) {
    unit = known->read;
  } else {
    std::vector<std::string_view> words;
    for (const host::Unit& one : host::units()) words.push_back(one.written);
    auto near = diagnostics::suggest(word, words);
    // `5 epochs`, `1 epoch`.
    if (near && (*near == "epoch" || *near == "step") && text_.substr(number_begin, at_ - number_begin) != "1")
      *near += 's';
    // A name that stands elsewhere, too, begins what follows: an operator or a comma is missing in front of it.
    const bool is_called = end < text_.size() && (text_[end] == '(' || text_[end] == '.');
    if (!is_glued && (is_called || stands_elsewhere(text_, begin, word))) return;
    at_ = end;
    if (is_glued && !near) {
      out_.tokens.pop_back();
      report_number(number_begin, "letters follow the digits");
      return;
    }
    diagnostics::Diagnostic diagnostic = diag::unknown_unit(span(begin, end), word);
    if (near) {
      add_near(diagnostic, word, span(begin, end), *near);
    } else {
      diagnostic.help("units are epochs, steps, ms, s, min, h, KiB, MiB and GiB");
    }
    report(std::move(diagnostic));
  }
  at_ = end;
  after_space_ = !is_glued;
  push_text(TokenKind::Unit, begin, end, std::move(unit));
}

}  // namespace ltr::lex
