#include "dsl/lex/scanner.h"

#include <algorithm>
#include <array>

#include "dsl/lex/layout.h"

namespace ltr::lex {

namespace {

struct Punctuation {
  std::string_view text;
  TokenKind kind = TokenKind::Error;
};

constexpr std::array kPunctuation = {
#define LTR_PUNCTUATION(name, text) Punctuation{text, TokenKind::name},
#include "dsl/lex/token_kind.def"
};

/// The first row of `kPunctuation` for each ASCII character, or the number of rows.
constexpr auto kFirstRow = [] {
  std::array<uint8_t, 128> rows{};
  for (auto& row : rows) row = static_cast<uint8_t>(kPunctuation.size());
  for (size_t i = kPunctuation.size(); i-- > 0;) {
    rows[static_cast<size_t>(kPunctuation[i].text[0])] = static_cast<uint8_t>(i);
  }
  return rows;
}();

constexpr std::array kConfusables = {
    Confusable{"\u2013", "-", "an en dash"},
    Confusable{"\u2014", "-", "an em dash"},
    Confusable{"\u2212", "-", "a typographic minus"},
    Confusable{"\u2010", "-", "a typographic hyphen"},
    Confusable{"\u2011", "-", "a typographic hyphen"},
    Confusable{"\u00d7", "*", "a multiplication sign"},
    Confusable{"\u00f7", "/", "a division sign"},
    Confusable{"\u2026", "...", "an ellipsis character"},
    Confusable{"\u2192", "->", "an arrow character"},
    Confusable{"\u21d2", "=>", "an arrow character"},
    Confusable{"\u2264", "<=", "a less-or-equal sign"},
    Confusable{"\u2265", ">=", "a greater-or-equal sign"},
    Confusable{"\u2260", "!=", "a not-equal sign"},
    Confusable{"\uff08", "(", "a full-width parenthesis"},
    Confusable{"\uff09", ")", "a full-width parenthesis"},
    Confusable{"\uff0c", ",", "a full-width comma"},
    Confusable{"\uff1a", ":", "a full-width colon"},
    Confusable{"\uff1b", ";", "a full-width semicolon"},
    Confusable{"\uff1d", "=", "a full-width equals sign"},
    Confusable{"\u00a0", "", "a non-breaking space"},
    Confusable{"\u202f", "", "a narrow non-breaking space"},
    Confusable{"\u2009", "", "a thin space"},
    Confusable{"\u3000", "", "a full-width space"},
    Confusable{"\u200b", "", "a zero-width space"},
    Confusable{"\ufeff", "", "a byte-order mark"},
    Confusable{"\u202a", "", "a left-to-right embedding"},
    Confusable{"\u202b", "", "a right-to-left embedding"},
    Confusable{"\u202c", "", "an end of a change of direction"},
    Confusable{"\u202d", "", "a left-to-right override"},
    Confusable{"\u202e", "", "a right-to-left override"},
    Confusable{"\u2066", "", "a left-to-right isolate"},
    Confusable{"\u2067", "", "a right-to-left isolate"},
    Confusable{"\u2068", "", "an isolate by the first strong character"},
    Confusable{"\u2069", "", "an end of an isolate"},
};

struct ForeignOperator {
  std::string_view text;
  std::string_view replacement;
  std::string_view help;
  bool has_fix = true;
  std::string_view form = {};  ///< the whole expression, where the replacement alone says too little
};

constexpr std::array kForeignOperators = {
    ForeignOperator{"===", "==", ""},
    ForeignOperator{"!==", "!=", ""},
    ForeignOperator{"&&", "and", ""},
    ForeignOperator{"||", "or", ""},
    ForeignOperator{"<>", "!=", ""},
    ForeignOperator{":=", "=", ""},
    ForeignOperator{"**=", "=", "write `x = x ** y`", false, "x = x ** y"},
    ForeignOperator{"??", "or", "it takes what stands for a missing value: `or_else(row.age, 0.0)`", false,
                    "or_else(a, b)"},
    ForeignOperator{"//", "/", "`floor(a / b)` rounds down, and a comment begins with `#`", false, "floor(a / b)"},
    ForeignOperator{"!", "not", ""},
    ForeignOperator{"~", "not", ""},
    ForeignOperator{"&", "and", "`and` works element by element on bool tensors"},
    ForeignOperator{"|", "or", "`or` works element by element on bool tensors"},
    ForeignOperator{"^", "**", "`**` is power"},
};

/// Whether one of them, or `/*`, begins with a character of ASCII.
constexpr auto kBeginsForeign = [] {
  std::array<bool, 128> begins{};
  for (const ForeignOperator& row : kForeignOperators) begins[static_cast<size_t>(row.text[0])] = true;
  return begins;
}();

}  // namespace

const Confusable* find_confusable(std::string_view text) {
  for (const Confusable& row : kConfusables) {
    if (text.starts_with(row.character)) return &row;
  }
  return nullptr;
}

size_t smart_quote_length(std::string_view text) {
  constexpr std::array<std::string_view, 10> kQuotes = {"\u201c", "\u201d", "\u201e", "\u201f", "\u2018",
                                                        "\u2019", "\u201a", "\u00ab", "\u00bb", "\uff02"};
  for (const std::string_view quote : kQuotes) {
    if (text.starts_with(quote)) return quote.size();
  }
  return 0;
}

Scanner::Scanner(source::SourceId source, std::string_view text, diagnostics::Sink& sink)
    : source_(source), text_(text), sink_(sink) {
  out_.source = source;
  out_.tokens.reserve(text.size() / 4 + 1);
}

TokenBuffer Scanner::run() {
  if (starts_with("\xef\xbb\xbf")) at_ = 3;
  for (skip_blank(); !at_end(); skip_blank()) scan_token();
  push(TokenKind::End, text_.size(), text_.size());
  return std::move(out_);
}

size_t Scanner::character_length(size_t at) const {
  size_t length = 1;
  while (at + length < text_.size() && length < 4 &&
         (static_cast<unsigned char>(text_[at + length]) & 0xc0U) == 0x80U && !is_ascii(text_[at])) {
    ++length;
  }
  return length;
}

Token& Scanner::push(TokenKind kind, size_t begin, size_t end) {
  if (has_pending_doc_) attach_docs(static_cast<uint32_t>(begin));
  Token token;
  token.kind = kind;
  token.starts_line = starts_line_;
  if (starts_line_ && begin > 0) {
    const size_t line_end = text_.rfind('\n', begin - 1);
    const size_t line = line_end == std::string_view::npos ? 0 : line_end + 1;
    token.indent = static_cast<uint16_t>(std::min<size_t>(begin - line, UINT16_MAX));
  }
  token.after_space = after_space_;
  token.span = span(begin, end);
  starts_line_ = false;
  after_space_ = false;
  return out_.tokens.emplace_back(token);
}

void Scanner::attach_docs(uint32_t owner_begin) {
  out_.docs.push_back({owner_begin, std::move(pending_doc_)});
  pending_doc_.clear();
  has_pending_doc_ = false;
}

void Scanner::skip_blank() {
  for (; !at_end(); ++at_) {
    const char c = peek();
    if (c == '\n') {
      starts_line_ = true;
    } else if (c == '#') {
      scan_comment();
      --at_;  // The loop steps over the last character of the comment.
    } else if (c == ' ') {
      // Where the library is loaded in part, most of it is blank.
      at_ = std::min(text_.find_first_not_of(' ', at_), text_.size()) - 1;
    } else if (c != '\t' && c != '\r') {
      return;
    }
    after_space_ = true;
  }
}

void Scanner::scan_comment() {
  const size_t begin = at_;
  while (!at_line_end()) ++at_;
  const std::string_view text = text_.substr(begin, at_ - begin);
  Comment comment;
  comment.span = span(begin, at_);
  report_directions(begin, at_, "comment");
  comment.owns_line = starts_line_;
  // `###…` is a line drawn across the page.
  comment.is_doc = text.starts_with("##") && !text.starts_with("###");
  if (comment.is_doc && comment.owns_line) {
    std::string_view line = text.substr(2);
    if (line.starts_with(' ')) line.remove_prefix(1);
    while (line.ends_with(' ') || line.ends_with('\t')) line.remove_suffix(1);
    if (has_pending_doc_) pending_doc_ += '\n';
    pending_doc_ += line;
    has_pending_doc_ = true;
  }
  out_.comments.push_back(comment);
}

// What an editor shows is then not what is read: code may stand where a comment seems to.
void Scanner::report_directions(size_t begin, size_t end, std::string_view where) {
  const std::string_view text = text_.substr(0, end);
  for (size_t at = text.find('\xe2', begin); at < end; at = text.find('\xe2', at + 1)) {
    if (!source::changes_direction(text.substr(at))) continue;
    diagnostics::Diagnostic diagnostic =
        diag::hidden_direction(span(at, at + 3), find_confusable(text.substr(at))->name, where);
    if (where == "string") {
      constexpr std::string_view kHex = "0123456789abcdef";
      const unsigned low = ((text[at + 1] & 0x3fU) << 6U) + (text[at + 2] & 0x3fU);
      const std::string escape = std::string("\\u{20") + kHex[low >> 4U] + kHex[low & 0xfU] + "}";
      diagnostic.help("where it is meant, write `{}`", escape).fix(span(at, at + 3), escape);
    } else {
      diagnostic.help("remove it").fix(span(at, at + 3), "");
    }
    report(std::move(diagnostic));
    return;  // Those behind it on the line, or in the string, came with it.
  }
}

void Scanner::scan_token() {
  const char c = peek();
  if (c == 'r' && peek(1) == '"') {
    scan_raw_string();
  } else if (is_name_start(c)) {
    scan_word();
  } else if (is_digit(c)) {
    scan_number();
  } else if (c == '"') {
    scan_string();
  } else if (c == '\'') {
    scan_single_quoted();
  } else if (scan_foreign_operator() || scan_punctuation()) {
    return;
  } else {
    scan_foreign();
  }
}

void Scanner::scan_word() {
  const size_t begin = at_;
  while (is_name_char(peek())) ++at_;
  // A letter that is not ASCII belongs to the word: one message for the word, not one per letter.
  bool is_foreign = false;
  while (!at_end() && !is_ascii(peek()) && find_confusable(text_.substr(at_)) == nullptr &&
         smart_quote_length(text_.substr(at_)) == 0) {
    is_foreign = true;
    at_ += character_length(at_);
    while (is_name_char(peek())) ++at_;
  }
  const std::string_view word = text_.substr(begin, at_ - begin);
  if (is_foreign) {
    size_t letter = 0;
    while (is_ascii(word[letter])) ++letter;
    const size_t at = begin + letter;
    const std::string shown(text_.substr(at, character_length(at)));
    report(diag::unknown_character(span(at, at + shown.size()), "`" + shown + "` in `" + std::string(word) + "`")
               .help("a name has the letters a to z and A to Z, digits and `_`"));
    push(TokenKind::Name, begin, at_);
    return;
  }
  if (peek() == '"' && (word == "f" || word == "F" || word == "b" || word == "u" || word == "fr" || word == "rf")) {
    // Of a string that is never closed, that is the mistake.
    const size_t end = text_.find_first_of("\"\n", at_ + 1);
    if (end == std::string_view::npos || text_[end] == '\n') return;
    report(diag::string_prefix(span(begin, at_), word)
               .help("every string takes `{value}`; `r\"…\"` is taken literally")
               .fix(span(begin, at_), word == "fr" || word == "rf" ? "r" : ""));
    return;  // The string follows as if the prefix were not there.
  }
  push(find_word(word), begin, at_);
}

bool Scanner::scan_punctuation() {
  const char c = peek();
  if (!is_ascii(c)) return false;
  for (size_t row = kFirstRow[static_cast<size_t>(c)]; row < kPunctuation.size() && kPunctuation[row].text[0] == c;
       ++row) {
    if (!starts_with(kPunctuation[row].text)) continue;
    const size_t begin = at_;
    at_ += kPunctuation[row].text.size();
    push(kPunctuation[row].kind, begin, at_);
    return true;
  }
  return false;
}

namespace {

/// Words alone up to the end of the line, two at least: no operand of a division.
bool is_prose(std::string_view rest) {
  rest = rest.substr(0, rest.find('\n'));
  rest = rest.substr(0, rest.find('#'));
  size_t words = 0;
  bool in_word = false;
  for (const char c : rest) {
    const bool is_letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    if (!is_letter && c != ' ' && c != '\t' && c != '\r') return false;
    if (is_letter && !in_word) ++words;
    in_word = is_letter;
  }
  return words >= 2;
}

/// One word alone up to the end of the line: an operand, or a remark.
bool is_one_word(std::string_view rest) {
  rest = rest.substr(0, rest.find('\n'));
  const size_t first = rest.find_first_not_of(" \t"), last = rest.find_last_not_of(" \t\r");
  if (first == std::string_view::npos) return false;
  rest = rest.substr(first, last + 1 - first);
  return std::all_of(rest.begin(), rest.end(), is_name_char);
}

}  // namespace

/// `(n := …`, where the assignment is a part of an expression.
bool Scanner::is_inner_assignment() const {
  const size_t count = out_.tokens.size();
  return count >= 2 && is_word(out_.tokens[count - 1].kind) && out_.tokens[count - 2].kind == TokenKind::OpenParen;
}

/// `p: int | None`: behind a `:` or `->` it joins types. All that is joined is one token, which the parser makes an option of.
bool Scanner::scan_union(size_t begin) {
  const std::vector<Token>& tokens = out_.tokens;
  size_t first = tokens.size();
  int depth = 0;
  while (first > 0) {
    const TokenKind kind = tokens[--first].kind;
    depth += kind == TokenKind::CloseBracket ? 1 : kind == TokenKind::OpenBracket ? -1 : 0;
    if (depth <= 0 && kind != TokenKind::OpenBracket) break;
  }
  if (first == 0 || depth != 0 || !is_word(tokens[first].kind)) return false;
  const TokenKind before = tokens[first - 1].kind;
  if (before != TokenKind::Colon && before != TokenKind::Arrow) return false;
  size_t end = at_;
  while (end < text_.size() && text_[end] == ' ') ++end;
  const size_t word = end;
  while (end < text_.size() && (is_name_start(text_[end]) || (text_[end] >= '0' && text_[end] <= '9'))) ++end;
  if (end == word) return false;
  const bool is_option = text_.substr(word, end - word) == "None" || text_.substr(word, end - word) == "none";
  const Span whole = span(tokens[first].span.begin, end);
  const std::string held(text_.substr(whole.begin, tokens.back().span.end - whole.begin));
  const std::string ours = "option[" + held + "]";
  diagnostics::Diagnostic diagnostic =
      diag::python_form(whole, text_.substr(whole.begin, end - whole.begin), is_option ? "`" + ours + "`" : "one type");
  if (is_option) {
    diagnostic.fix(whole, ours);
  } else {
    diagnostic.help("a value is of the one type that is declared: leave the others out");
  }
  report(std::move(diagnostic));
  at_ = end;
  push(TokenKind::Or, begin, end);
  return true;
}

bool Scanner::scan_foreign_operator() {
  if (!is_ascii(peek()) || !kBeginsForeign[static_cast<size_t>(peek())]) return false;
  // `!=` and `|>` are ours.
  if (starts_with("!=") != starts_with("!==") || starts_with("|>")) return false;
  if (starts_with("/*")) {
    // Its words would only give more messages.
    const size_t begin = at_, close = text_.find("*/", at_ + 2);
    at_ = close == std::string_view::npos ? text_.size() : close + 2;
    starts_line_ = starts_line_ || text_.substr(begin, at_ - begin).find('\n') != std::string_view::npos;
    report(diag::foreign_operator(span(begin, begin + 2), "/*", "#").help("a comment goes to the end of its line"));
    return true;
  }
  for (const ForeignOperator& row : kForeignOperators) {
    if (!starts_with(row.text)) continue;
    const size_t begin = at_;
    const std::string_view rest = text_.substr(at_ + row.text.size());
    const bool lacks_operand = starts_line_ || out_.tokens.empty() || joins_next_line(out_.tokens.back().kind);
    if (row.text == "//" && (lacks_operand || is_prose(rest))) {
      // A comment of another language: its words would only give more messages.
      while (!at_line_end()) ++at_;
      report(diag::foreign_operator(span(begin, begin + 2), "//", "#").fix(span(begin, begin + 2), "#"));
      return true;
    }
    at_ += row.text.size();
    const std::string_view shown = row.form.empty() ? row.replacement : row.form;
    if (row.text == "|" && scan_union(begin)) return true;
    diagnostics::Diagnostic diagnostic = diag::foreign_operator(span(begin, at_), row.text, shown);
    if (!row.help.empty()) diagnostic.help("{}", row.help);
    if (row.text == ":=" && is_inner_assignment()) {
      diagnostic.help("an assignment is a statement of its own: `{} = …` above this one", text_of(out_.tokens.back()));
    } else if (row.has_fix) {
      const bool is_glued = row.text.size() == 1 && is_name_start(row.replacement[0]) && peek() != ' ';
      diagnostic.fix(span(begin, at_), std::string(row.replacement) + (is_glued ? " " : ""));
    }
    report(std::move(diagnostic));
    if (row.text == "//" && is_one_word(rest)) {
      // Without it the line is whole, whichever of the two it is; what it is worth is not known.
      push(TokenKind::Slash, begin, at_);
      push(TokenKind::Error, at_, at_);
      while (!at_line_end()) ++at_;
      return true;
    }
    TokenKind kind = find_word(row.replacement);
    for (const Punctuation& ours : kPunctuation) {
      if (ours.text == row.replacement) kind = ours.kind;
    }
    push(kind, begin, at_);
    // Of `|` nobody knows whether it was meant to be `or` or `|>`.
    if (row.text == "|") push(TokenKind::Error, at_, at_);
    return true;
  }
  return false;
}

void Scanner::scan_foreign() {
  const size_t begin = at_;
  if (smart_quote_length(text_.substr(at_)) != 0) {
    scan_smart_string();
    return;
  }
  if (const Confusable* known = find_confusable(text_.substr(at_))) {
    at_ += known->character.size();
    const bool is_space = known->replacement.empty();
    const std::string shown =
        is_space ? std::string(known->name) : "`" + std::string(known->character) + "`, " + std::string(known->name);
    diagnostics::Diagnostic diagnostic = diag::unknown_character(span(begin, at_), shown);
    if (is_space) {
      diagnostic.help("write a plain space");
    } else {
      diagnostic.help("write `{}`", known->replacement);
    }
    report(std::move(diagnostic).fix(span(begin, at_), is_space ? " " : std::string(known->replacement)));
    for (const Punctuation& ours : kPunctuation) {
      if (ours.text == known->replacement) push(ours.kind, begin, at_);
    }
    after_space_ |= is_space;
    return;
  }
  if (!is_ascii(peek())) {
    scan_word();
    return;
  }
  ++at_;
  std::string shown = "`" + std::string(text_.substr(begin, 1)) + "`";
  if (static_cast<unsigned char>(text_[begin]) < 0x20 || text_[begin] == 0x7f) shown = "(a control character)";
  diagnostics::Diagnostic diagnostic = diag::unknown_character(span(begin, at_), shown);
  if (text_[begin] == '\\') {
    diagnostic.help("a line goes on by itself inside brackets and after an operator or a comma");
    report(std::move(diagnostic));
    // Taken as it was meant: the next line belongs to this one.
    while (!at_end() && (peek() == ' ' || peek() == '\r')) ++at_;
    if (peek() == '\n') ++at_;
    return;
  }
  report(std::move(diagnostic));
  push(TokenKind::Error, begin, at_);
}

}  // namespace ltr::lex
