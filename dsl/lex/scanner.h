#pragma once

#include <string>
#include <string_view>

#include "dsl/diagnostics/sink.h"
#include "dsl/lex/token.h"

namespace ltr::lex {

inline bool is_digit(char c) { return c >= '0' && c <= '9'; }
inline bool is_name_start(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
inline bool is_name_char(char c) { return is_name_start(c) || is_digit(c); }
inline bool is_ascii(char c) { return (static_cast<unsigned char>(c) & 0x80U) == 0; }

/// A character that looks like one of ours and is not.
struct Confusable {
  std::string_view character;
  std::string_view replacement;  ///< empty: white space
  std::string_view name;
};
/// Null if the text at hand begins with none.
const Confusable* find_confusable(std::string_view text);
/// Length of the typographic quote that `text` begins with, or 0.
size_t smart_quote_length(std::string_view text);

/// Reads one text from left to right; `lex` runs it. Newlines and brackets come afterwards (`layout.cpp`).
class Scanner {
 public:
  Scanner(source::SourceId source, std::string_view text, diagnostics::Sink& sink);
  TokenBuffer run();

 private:
  // scanner.cpp
  void scan_token();
  void skip_blank();
  void scan_comment();
  /// Reports the first character between `begin` and `end` that changes the direction of the text.
  void report_directions(size_t begin, size_t end, std::string_view where);
  void scan_word();
  bool scan_punctuation();
  void scan_foreign();
  bool scan_foreign_operator();
  bool scan_union(size_t begin);
  bool is_inner_assignment() const;
  std::string_view text_of(const Token& token) const {
    return text_.substr(token.span.begin, token.span.end - token.span.begin);
  }
  void attach_docs(uint32_t owner_begin);

  // scan_number.cpp
  void scan_number();
  void scan_hex(size_t begin);
  void scan_unit(size_t number_begin);
  void report_number(size_t begin, std::string_view reason);

  // scan_string.cpp
  struct StringForm {
    size_t begin = 0;             ///< of the whole literal
    std::string_view terminator;  ///< `"`, `"""` or `'`; empty: any typographic or straight quote
    bool is_raw = false;
    bool is_multi_line = false;
  };
  void scan_string();
  void scan_raw_string();
  void scan_smart_string();
  void scan_single_quoted();
  void scan_unclosed_string(const StringForm& form);
  void scan_string_body(const StringForm& form);
  /// The offset after the terminator if one stands at `at`, else 0.
  size_t end_of_string_at(const StringForm& form, size_t at) const;
  void scan_escape(const StringForm& form, std::string& out);
  void scan_unicode_escape(std::string& out, size_t begin);
  /// False if the `{` is never closed.
  bool scan_interpolation(const StringForm& form);
  bool is_string_in_string(size_t first_token) const;
  void skip_escaped_string();
  void scan_format();
  void push_text(TokenKind kind, size_t begin, size_t end, std::string text);

  char peek(size_t ahead = 0) const { return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0'; }
  bool at_end() const { return at_ >= text_.size(); }
  bool starts_with(std::string_view what) const { return text_.substr(at_).starts_with(what); }
  bool at_line_end() const { return at_end() || peek() == '\n' || (peek() == '\r' && peek(1) == '\n'); }
  size_t character_length(size_t at) const;
  Span span(size_t begin, size_t end) const {
    return {source_, static_cast<uint32_t>(begin), static_cast<uint32_t>(end)};
  }
  Token& push(TokenKind kind, size_t begin, size_t end);
  void report(diagnostics::Diagnostic diagnostic) { sink_.report(std::move(diagnostic)); }

  source::SourceId source_;
  std::string_view text_;
  diagnostics::Sink& sink_;
  size_t at_ = 0;
  int strings_within_ = 0;   ///< how many strings are read that stand between the braces of another
  size_t told_string_ = 0;   ///< behind the begin of the last of which that was said
  size_t unclosed_end_ = 0;  ///< where the last string ends whose `{` is never closed
  bool starts_line_ = true;
  bool after_space_ = false;
  std::string pending_doc_;
  bool has_pending_doc_ = false;
  TokenBuffer out_;
};

/// Pairs the brackets of `buffer` and inserts the `Newline` tokens that end statements.
void lay_out(TokenBuffer& buffer);

}  // namespace ltr::lex
