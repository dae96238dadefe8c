#include <algorithm>
#include <utility>

#include "dsl/diagnostics/suggest.h"
#include "dsl/parse/lost.h"
#include "dsl/parse/state.h"

// What is said when the grammar does not go on, and where parsing resumes.
namespace ltr::parse {

namespace {

using K = TokenKind;

bool is_opener(TokenKind kind) {
  return kind == K::OpenParen || kind == K::OpenBracket || kind == K::OpenBrace || kind == K::InterpBegin;
}

bool is_closer(TokenKind kind) { return kind == K::CloseParen || kind == K::CloseBracket || kind == K::CloseBrace; }

/// The innermost bracket around `at`, if it is one that is never closed.
const lex::BracketPair* find_unclosed(const State& state, Iter at) {
  const uint32_t index = state.index(at);
  const lex::BracketPair* found = nullptr;
  for (const lex::BracketPair& pair : state.buffer().brackets) {
    if (pair.opener >= index) break;
    if (pair.closer >= index) found = &pair;
  }
  return found != nullptr && !found->is_closed ? found : nullptr;
}

TokenKind closer_of(TokenKind opener) {
  return opener == K::OpenParen ? K::CloseParen : opener == K::OpenBracket ? K::CloseBracket : K::CloseBrace;
}

bool is_stray_closer(const State& state, Iter at) {
  if (!is_closer(at->kind)) return false;
  const uint32_t index = state.index(at);
  return std::none_of(state.buffer().brackets.begin(), state.buffer().brackets.end(),
                      [&](const lex::BracketPair& pair) { return pair.is_closed && pair.closer == index; });
}

/// Of the token `count` before this one; what begins the program follows the end of a line.
TokenKind kind_before(const State& state, Iter at, int count = 1) {
  return at - state.begin() < count ? K::Newline : std::prev(at, count)->kind;
}

bool expects(const State& state, Expected what) { return state.expected_.test(static_cast<size_t>(what)); }

bool expects(const State& state, TokenKind kind) { return state.expected_.test(static_cast<size_t>(kind)); }

/// The words of the language among those that the message names.
std::vector<std::string> expected_words(const State& state) {
  std::vector<std::string> words;
  const std::string text = describe(state.expected_);
  for (size_t begin = 0, end = 0; begin < text.size(); begin = end + 1) {
    end = std::min(text.find_first_not_of("abcdefghijklmnopqrstuvwxyz", begin), text.size());
    const std::string word = text.substr(begin, end - begin);
    if (lex::find_word(word) != K::Name && word != "or") words.push_back(word);
  }
  return words;
}

/// The word of a statement that `word` was probably meant to be: `minimize` of `minimise`.
std::optional<std::string> near_statement(std::string_view word) {
  std::vector<std::string> words;
  for (size_t kind = 0; kind < lex::kTokenKinds; ++kind) {
    if (kStatementWords.has(static_cast<K>(kind))) words.emplace_back(lex::spelling(static_cast<K>(kind)));
  }
  return diagnostics::suggest(word, words);
}

/// `name` in front of a `:` that says of an argument or a setting what `=` says here.
void help_colon(const State& state, Iter colon, diagnostics::Diagnostic& diagnostic) {
  const bool is_spaced = std::prev(colon)->span.end < colon->span.begin;
  diagnostic.help("a value is given with `=`: `{} = …`", state.text(*std::prev(colon)))
      .fix(colon->span, is_spaced ? "=" : " =");
}

/// Whether a text could be a name.
bool is_plain_name(std::string_view text) {
  const auto is_letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; };
  return !text.empty() && is_letter(text[0]) && lex::find_word(text) == K::Name &&
         std::all_of(text.begin(), text.end(), [&](char c) { return is_letter(c) || (c >= '0' && c <= '9'); });
}

/// `"loss"` where a `log` names what it records: `log loss`, or `log loss = …`.
void help_logged_text(const State& state, Iter text, diagnostics::Diagnostic& diagnostic) {
  const std::string& name = state.buffer().strings[text->value];
  if (!is_plain_name(name)) return;
  const Iter next = std::next(text);
  const bool is_valued = next->kind == K::Assign || next->kind == K::Comma;
  Span span = text->span;
  if (next->kind == K::Comma) span.end = next->span.end;
  diagnostic.help("what is recorded has a name, not a text: `log {}{}`", name, is_valued ? " = …" : "")
      .fix(span, next->kind == K::Comma ? name + " =" : name);
}

/// What Lightning says of a value behind its name: `prog_bar`. False if it is none of it.
bool help_log_flag(const State& state, Iter at, diagnostics::Diagnostic& diagnostic) {
  const std::string_view word = state.text(*at);
  const std::string_view ours = word == "prog_bar"   ? "bar"
                                : word == "on_step"  ? "on step"
                                : word == "on_epoch" ? "on epoch"
                                                     : "";
  if (!ours.empty()) diagnostic.help("here it is `{}`", ours).fix(at->span, std::string(ours));
  return !ours.empty();
}

/// `*.bias` without its quotes.
void help_pattern(const State& state, Iter at, diagnostics::Diagnostic& diagnostic) {
  Iter last = at;
  while (!last->starts_line && last->kind != K::OpenBrace && last->kind != K::Assign && last->kind != K::Newline &&
         last->kind != K::End)
    ++last;
  if (last == at) return;
  const Span span = state.span(at, last);
  const std::string pattern = "\"" + std::string(state.text().substr(span.begin, span.end - span.begin)) + "\"";
  diagnostic.help("a pattern of names is a string: `{}`", pattern).fix(span, pattern);
}

/// The word that was probably meant, of those that may stand here.
bool help_near_word(const State& state, Iter at, diagnostics::Diagnostic& diagnostic) {
  const auto near = diagnostics::suggest(state.text(*at), expected_words(state));
  if (near) add_near(diagnostic, state.text(*at), at->span, *near);
  return near.has_value();
}

/// What the state of a metric still needs.
void help_state(const State& state, Iter at, diagnostics::Diagnostic& diagnostic) {
  if (kNames.has(at->kind) && help_near_word(state, at, diagnostic)) return;
  if (expects(state, Expected::Reduction)) {
    diagnostic.help("`reduce merge FUNCTION` makes one of the states of two ranks by a function of the metric");
  } else if (expects(state, K::Reduce)) {
    diagnostic.help(
        "how the states of two parts of the data become one: `reduce sum`, `mean`, `min`, `max`, `cat` or `merge "
        "FUNCTION`");
  } else if (kind_before(state, at) == K::Merge) {
    diagnostic.help("`reduce merge FUNCTION`: of the metric or of the file, it makes one record of states of two");
  }
}

/// Whether a parameter is a name alone, as one in front of it is: that was said for all of them.
bool follows_untyped(const State& state, Iter start, Iter at) {
  if (at != std::next(start) || (at->kind != K::Comma && at->kind != K::CloseParen)) return false;
  const Iter opener = opener_of_params(state, start);
  for (Iter name = std::next(opener); name < start; ++name) {
    const bool is_first = std::prev(name) == opener || std::prev(name)->kind == K::Comma;
    if (is_first && kNames.has(name->kind) && std::next(name)->kind == K::Comma &&
        opener_of_params(state, name) == opener)
      return true;
  }
  return false;
}

/// `(r) => …`: the brackets go.
bool help_bracketed_lambda(Iter at, const State& state, diagnostics::Diagnostic& diagnostic) {
  if (at->kind != K::FatArrow || at - state.begin() < 3 || std::prev(at)->kind != K::CloseParen) return false;
  const Iter name = std::prev(at, 2);
  if (kNames.has(name->kind) && std::prev(name)->kind == K::OpenParen) {
    diagnostic.help("its one parameter stands without brackets: `{} => …`", state.text(*name))
        .fix(state.span(std::prev(name), at), std::string(state.text(*name)));
  } else {
    diagnostic.help("it has one parameter, without brackets: `x => …`; a `fn` has several");
  }
  return true;
}

/// Whether the brackets that open at `at` are a function's: `name[B](x: float[B]) -> …`.
bool has_result(const State& state, Iter at) {
  while (at->kind == K::OpenParen || at->kind == K::OpenBracket) {
    const lex::BracketPair* pair = state.buffer().find_bracket(state.index(at));
    if (pair == nullptr || !pair->is_closed) return false;
    at = state.begin() + pair->closer + 1;
  }
  return at->kind == K::Arrow;
}

/// What begins a member of a callback and is none.
void help_callback_member(const State& state, Iter at, diagnostics::Diagnostic& diagnostic) {
  const std::string_view word = state.text(*at);
  const auto hook = diagnostics::renamed(word);
  const bool is_hook = word.starts_with("on_");
  if (std::next(at)->kind == K::Colon || std::next(at)->kind == K::Assign)
    diagnostic.help("what a callback keeps is a `state`: `state {}: float = …`", word);
  else if (is_hook && hook)
    diagnostic.help("{}", "a hook: `on " + std::string(*hook) + " { … }`").fix(at->span, "on " + std::string(*hook));
  else
    help_near_word(state, at, diagnostic);
}

/// What follows an import, as it is written here.
void help_import(const State& state, Iter start, Iter at, diagnostics::Diagnostic& diagnostic) {
  const Iter first = std::next(start);
  const auto text = [&](Iter begin, Iter end) {
    const Span span = state.span(begin, end);
    return std::string(state.text().substr(span.begin, span.end - span.begin));
  };
  if (first->kind == K::Str && at == std::next(first)) {
    const std::string& file = state.buffer().strings[first->value];
    const std::string alias = file_stem(file);
    diagnostic.help("the name of the file here: `import \"{}\" as {}`", file, alias);
    if (is_plain_name(alias)) diagnostic.fix({at->span.source, first->span.end, first->span.end}, " as " + alias);
  } else if (at->kind == K::Slash) {
    Iter end = at;
    while (end->kind != K::As && end->kind != K::Newline && end->kind != K::End) ++end;
    const std::string file = "\"" + text(first, end) + "\"";
    const std::string alias = end->kind == K::As ? "" : " as " + file_stem(text(first, end));
    diagnostic
        .help("a path is a string: `import {}{}`", file,
              end->kind == K::As ? " as " + std::string(state.text(*std::next(end))) : alias)
        .fix(state.span(first, end), file + alias);
  } else if (at->kind == K::As && expects(state, K::CloseBrace)) {
    const Iter dot = std::find_if(first, at, [](const lex::Token& one) { return one.kind == K::OpenBrace; }) - 1;
    diagnostic.help("a name is imported as it is; that of a whole file is chosen: `import {} as {}`, and `{}.{}`",
                    text(first, dot), state.text(*std::prev(dot)), state.text(*std::prev(dot)),
                    state.text(*std::prev(at)));
  } else {
    diagnostic.help("`import \"file.ltr\" as name`, or `import std.vision.{resize}`");
  }
}

/// What the message alone does not say.
void add_help(const State& state, Level level, Iter start, Iter at, diagnostics::Diagnostic& diagnostic) {
  const bool is_first_word =
      level == Level::Statement && start->kind == K::Name && at == std::next(start) && !at->starts_line;
  if (help_bracketed_lambda(at, state, diagnostic)) return;
  if (start->kind == K::Import) return help_import(state, start, at, diagnostic);
  if (at->kind == K::Name && expects(state, Expected::CallbackMember))
    return help_callback_member(state, at, diagnostic);
  if (level == Level::Parameter && expects(state, K::Colon)) {
    diagnostic.help("a parameter has a type: `{}: {}`", state.text(*start),
                    is_of_object(state, opener_of_params(state, start)) ? "int" : "float[B, 3]");
  } else if (start->kind == K::Hparam && expects(state, K::Colon)) {
    diagnostic.help("a setting has a type: `hparam lr: float = 1e-3`");
  } else if ((start->kind == K::Weight || start->kind == K::Buffer || start->kind == K::State) &&
             expects(state, K::Colon)) {
    const std::string name = std::next(start) != at ? std::string(state.text(*std::next(start))) : "NAME";
    diagnostic.help("what is kept has a type: `{} {}: {} = …`", state.text(*start), name,
                    start->kind == K::Weight ? "float[SIZE]" : "float");
  } else if (start->kind == K::State && at != start) {
    help_state(state, at, diagnostic);
  } else if (at->kind == K::Colon && at != start && lex::is_word(std::prev(at)->kind) &&
             (expects(state, K::Assign) || expects(state, K::Comma))) {
    help_colon(state, at, diagnostic);
  } else if (start->kind == K::Log && at->kind == K::Comma) {
    diagnostic.help("each has a `log` of its own");
  } else if (start->kind == K::Log && at->kind == K::OpenParen && lex::is_word(kind_before(state, at))) {
    const std::string_view name = state.text(*std::prev(at));
    diagnostic.help("what is recorded has a name: `log {} = {}(…)`", name, name);
  } else if (start->kind == K::Log && at->kind == K::Str) {
    help_logged_text(state, at, diagnostic);
  } else if ((start->kind == K::Group || start->kind == K::Init) && at == std::next(start)) {
    help_pattern(state, at, diagnostic);
  } else if (expects(state, K::Comma) && expects(state, K::CloseParen) && kNames.has(at->kind)) {
    const Span behind = {at->span.source, std::prev(at)->span.end, std::prev(at)->span.end};
    diagnostic.help("a `,` between the two").fix(behind, ",");
  } else if (at->kind == K::Semicolon && level == Level::Parameter) {
    diagnostic.help("parameters have a `,` between them").fix(at->span, ",");
  } else if ((at->kind == K::Star || at->kind == K::Power) && expects(state, Expected::Expression)) {
    diagnostic.help("nothing is unpacked: each argument by itself, `f(x, y)`");
  } else if (at->kind == K::Dot && expects(state, Expected::Expression) && std::next(at)->kind == K::Int) {
    diagnostic.help("a number has a digit in front of its point: `0.{}`", state.text(*std::next(at)))
        .fix({at->span.source, at->span.begin, at->span.begin}, "0");
  } else if (at->kind == K::Int && kind_before(state, at) == K::Dot) {
    const Span dot = source::join(std::prev(at)->span, at->span);
    const std::string index = "[" + std::string(state.text(*at)) + "]";
    diagnostic.help("an element is taken by its index: `…{}`", index).fix(dot, index);
  } else if (level == Level::Statement && start->kind == K::Const && at == std::next(start)) {
    const Span gone = {start->span.source, start->span.begin, at->span.begin};
    diagnostic.help("a local needs no `const`: `{} = …`", state.text(*at)).fix(gone, "");
  } else if (start->kind == K::Log && help_log_flag(state, at, diagnostic)) {
    return;
  } else if (start->kind == K::Return && at->kind == K::Comma) {
    diagnostic.help("several values are a tuple, in brackets: `return (a, b)`, or a record: `return (a = …, b = …)`");
  } else if (start->kind == K::Yield && at->kind == K::Comma) {
    diagnostic.help("several values are a tuple, in brackets: `yield (a, b)`");
  } else if (level == Level::Statement && at->kind == K::Comma && !find_unpacked(state, start, state.limit_).empty()) {
    diagnostic.help("one level at a time: `a, rest = …`, then `b, c = rest`");
  } else if (start->kind == K::Print && at->kind == K::Assign && at == start + 2) {
    diagnostic.help("a value is given in a line of its own: `{} = …`, then `print {}`", state.text(*std::prev(at)),
                    state.text(*std::prev(at)));
  } else if (level == Level::Statement && at->kind == K::Assign && kNames.has(kind_before(state, at)) &&
             !find_unpacked(state, start, state.limit_).empty()) {
    diagnostic.help("one at a time: `{} = …`, then `{} = {}`", state.text(*std::prev(at)), state.text(*start),
                    state.text(*std::prev(at)));
  } else if (const auto advice = is_first_word && at->kind == K::OpenParen && expects(state, K::Assign)
                                     ? diagnostics::foreign_advice(state.text(*start))
                                     : std::nullopt) {
    diagnostic.help("{}", std::string(*advice));
  } else if (const auto meant = is_first_word ? near_statement(state.text(*start)) : std::nullopt) {
    diagnostic.help("did you mean `{}`?", *meant).fix(start->span, *meant);
  } else if (at == std::next(start) && expects(state, K::Assign) && has_result(state, at)) {
    diagnostic.help("a function begins with `fn`")
        .fix({start->span.source, start->span.begin, start->span.begin}, "fn ");
  } else if (at->kind == K::Not && expects(state, Expected::Expression)) {
    diagnostic.help("in brackets: `(not x)`");
  } else if (at->kind == K::Plus && kind_before(state, at) == K::Plus && lex::is_word(kind_before(state, at, 2))) {
    diagnostic.help("one more is `{} += 1`", state.text(*std::prev(at, 2)))
        .fix(state.span(std::prev(at), at + 1), " += 1");
  } else if (at->kind == K::Colon && kind_before(state, at) == K::CloseParen && expects(state, K::OpenBrace)) {
    diagnostic.help("the type of the result stands behind `->`").fix(at->span, "->");
  } else if (at->kind == K::Plus && expects(state, Expected::Expression)) {
    diagnostic.help("there is no unary `+`");
  } else if (at->kind == K::Range && expects(state, Expected::Separator)) {
    diagnostic.help("ranges do not chain, and one without an end stands in an index only");
  } else if ((at->kind == K::Str || at->kind == K::StrBegin) && at->starts_line) {
    diagnostic.help("documentation is written with `##` above the declaration");
  } else if (start->kind == K::Batch && expects(state, K::OpenBrace)) {
    diagnostic.help("the batch is written `batch[B] { image: float[B, 28, 28], label: i64[B] }`");
  } else if (expects(state, K::OpenBrace) && expects(state, K::Assign)) {
    diagnostic.help("a body is `{ … }`, or `= value` if it is one value");
  } else if (kNames.has(at->kind)) {
    help_near_word(state, at, diagnostic);
  }
}

}  // namespace

bool report_missing_separator(State& state, Iter at) {
  if (at < state.furthest_ || at == state.begin() || !lex::is_word(at->kind) || at->kind == K::If) return false;
  const Iter before = std::prev(at);
  // A word alone is no entry that is complete: it is one that is misspelt, or of another language.
  constexpr KindSet kBeforeEntry = {K::OpenBrace, K::Semicolon, K::Comma, K::Newline};
  const bool begins_entry = before == state.begin() || before->starts_line || kBeforeEntry.has(std::prev(before)->kind);
  const TokenKind next = std::next(at)->kind;
  const bool is_entry = next == K::Assign || (next == K::Colon && state.takes_comma_) ||
                        (next == K::OpenParen && is_closer(before->kind)) ||
                        (next == K::OpenBrace && at->kind != K::Name) ||
                        (kStatementWords.has(at->kind) && lex::is_word(next));
  if (!is_entry || (begins_entry && lex::is_word(before->kind))) return false;
  const std::string separator = state.takes_comma_ ? "," : ";";
  const Span behind = {at->span.source, before->span.end, before->span.end};
  state.report_at(at, diag::unexpected_token(at->span, describe(state.expected_), describe_found(state, at))
                          .help("two on one line have a `{}` between them", separator)
                          .fix(behind, separator));
  return true;
}

std::string describe_found(const State& state, Iter at) {
  switch (at->kind) {
    case K::Int:
    case K::Float: return "the number `" + std::string(state.text(*at)) + "`";
    case K::Unit: return "the unit `" + std::string(state.text(*at)) + "`";
    case K::Name: return "`" + std::string(state.text(*at)) + "`";
    default: return lex::describe(at->kind);
  }
}

void report_failure(State& state, Level level, Iter start, Iter where) {
  const Iter at = std::max(where, state.furthest_);
  if (at < state.furthest_ || at > state.furthest_) state.expected_.reset();
  // What could not be read was reported by the lexer.
  if (at->kind == K::Error || (at != state.begin() && std::prev(at)->kind == K::Error)) {
    state.mark_reported(at);
    return;
  }
  if (is_stray_closer(state, at)) {
    diagnostics::Diagnostic diagnostic = diag::stray_bracket(at->span, state.text(*at));
    const lex::BracketPair* const pair = find_unclosed(state, at);
    if (pair == nullptr) return state.report_at(at, std::move(diagnostic.fix(at->span, "")));
    // One of another kind is open: this was meant to close it.
    const lex::Token& opener = *(state.begin() + pair->opener);
    const std::string_view closer = opener.kind == K::OpenParen ? ")" : opener.kind == K::OpenBracket ? "]" : "}";
    diagnostic.label(opener.span, "`{}` closes this", closer)
        .help("write `{}`", closer)
        .fix(at->span, std::string(closer));
    state.report_at(at, std::move(diagnostic));
    return;
  }
  if (level == Level::Statement && start->kind == K::Let && kNames.has(std::next(start)->kind)) {
    const Span gone = {start->span.source, start->span.begin, std::next(start)->span.begin};
    state.report_at(at, diag::python_form(start->span, "let", "`name = value`: locals need no `let`").fix(gone, ""));
    return;
  }
  if (level == Level::Parameter) {
    auto python = find_python_param(state, start);
    if (python) return state.report_at(at, std::move(*python));
    if (follows_untyped(state, start, at)) return state.mark_reported(at);
  }
  if (auto python = find_python_form(state, start, at)) {
    state.report_at(at, std::move(*python));
    return;
  }
  const bool is_at_end = at->kind == K::Newline || at->kind == K::End || at->starts_line || is_closer(at->kind);
  if (const lex::BracketPair* pair = find_unclosed(state, at)) {
    const TokenKind opener = (state.begin() + pair->opener)->kind;
    if (is_at_end || expects(state, closer_of(opener))) {
      state.report_unclosed(*pair, at);
      return;
    }
  }
  if (lex::is_reserved(at->kind) && expects(state, Expected::Name) && state.expected_.count() <= 2) {
    state.report_at(at, diag::reserved_name(at->span, state.text(*at)));
    return;
  }
  diagnostics::Diagnostic diagnostic =
      diag::unexpected_token(at->span, describe(state.expected_), describe_found(state, at));
  add_help(state, level, start, at, diagnostic);
  state.report_at(at, std::move(diagnostic));
}

void report_nesting(State& state, Iter where, int limit) {
  // What is around it, or goes on behind it, is as deep: one message for all of it.
  if (std::exchange(state.is_nesting_told_, true)) {
    state.mark_reported(where);
    return;
  }
  diagnostics::Diagnostic diagnostic = diag::nesting_too_deep(where->span, limit);
  if (limit == kMaxNesting) {
    diagnostic.help("give the inner part a name of its own");
  } else {
    diagnostic.help("give the first half of the chain a name of its own");
  }
  state.report_at(where, std::move(diagnostic));
}

namespace {

/// The indentation of the line that `at` is on.
uint16_t indent_of_line(const State& state, Iter at) {
  while (!at->starts_line && at != state.begin()) --at;
  return at->indent;
}

}  // namespace

Iter find_indented_end(const State& state, Iter colon) {
  if (colon->kind != K::Colon || std::next(colon)->kind != K::Newline) return colon;
  const uint16_t indent = indent_of_line(state, colon);
  const Iter body = colon + 2;
  if (body >= state.limit_ || body->indent <= indent) return colon;
  Iter at = body;
  while (at < state.limit_ && at->kind != K::End && !(at->starts_line && at->indent <= indent)) ++at;
  const bool is_elif = at->kind == K::Name && state.text(*at) == "elif";
  return std::prev(at)->kind == K::Newline && !is_elif ? std::prev(at) : at;
}

Iter skip_own_brace(const State& state, Iter colon, Iter end) {
  const Iter brace = end->kind == K::Newline ? std::next(end) : end;
  const bool is_own = brace->kind == K::CloseBrace && brace->starts_line &&
                      brace->indent == indent_of_line(state, colon) && is_stray_closer(state, brace);
  return is_own ? std::next(brace) : end;
}

Iter find_resumption(const State& state, Level level, Iter start, Iter at) {
  const lex::TokenBuffer& buffer = state.buffer();
  const Iter last = std::prev(buffer.tokens.end());
  const bool is_line = level == Level::Statement || level == Level::Entry || level == Level::Declaration;
  // A statement that was refused at its first token is passed over, or nothing would ever move.
  if (is_line && at == start && at != last) ++at;
  // The body of a header without `{` is given up with it: the lines that are indented deeper.
  const bool lacks_brace = at->kind == K::Newline && at == state.furthest_ && expects(state, K::OpenBrace);
  const bool skips_body = is_line && (lacks_brace || is_python_header(state, start, at));
  const uint16_t header_indent = indent_of_line(state, start);

  Iter i = start;
  while (i < last && i < state.limit_) {
    if (is_opener(i->kind)) {
      const lex::BracketPair* pair = buffer.find_bracket(state.index(i));
      const Iter close = state.begin() + pair->closer;
      if (pair->is_closed && close < state.limit_) {
        // The body behind a broken condition is still a body.
        if (level == Level::Condition && i >= at && i->kind == K::OpenBrace) return i;
        i = std::next(close);
        continue;
      }
    }
    if (i >= at) {
      if (is_closer(i->kind) || i->kind == K::InterpEnd) {
        // Brackets opened inside were passed over: this one closes what is around, or nothing at all.
        if (!is_line || i->kind == K::CloseBrace) {
          if (!is_stray_closer(state, i)) return i;
        }
      }
      if (i->kind == K::Comma) {
        // An entry that is no setting goes to the end of its line: its commas are as likely those of its arguments.
        const bool is_next_entry = state.takes_comma_ && kNames.has(std::next(i)->kind);
        if (level == Level::Parameter || (level == Level::Value && is_next_entry)) return i;
      }
      const bool ends_line = i->kind == K::Newline || (i->kind == K::Semicolon && level != Level::Parameter);
      if (ends_line) {
        const Iter next = std::next(i);
        if (!skips_body || next >= state.limit_) return i;
        const std::string_view word = next->kind == K::Name ? state.text(*next) : "";
        const bool is_elif = word == "elif" || word == "except" || word == "finally";
        const bool is_end = next->indent == header_indent && is_stray_closer(state, next);
        if (next->indent <= header_indent && !is_elif && !is_end) return i;
      }
    }
    ++i;
  }
  return std::min(i, state.limit_);
}

}  // namespace ltr::parse
