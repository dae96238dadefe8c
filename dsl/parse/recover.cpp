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

/// Whether the line that `at` is on gives a name its value, or hands one on.
bool is_in_value(const State& state, Iter at) {
  Iter first = at;
  while (first != state.begin() && !first->starts_line) --first;
  if (first->kind == K::Let) ++first;
  if (kNames.has(first->kind) && std::next(first)->kind == K::Assign) return true;
  return std::any_of(first, at, [](const lex::Token& one) { return one.kind == K::Pipe; });
}

/// What comes behind the brackets of a call is what its value is handed on to, more often than a second one in the line.
diagnostics::Diagnostic with_pipe(const State& state, Iter at, diagnostics::Diagnostic diagnostic) {
  const Span behind = {at->span.source, std::prev(at)->span.end, std::prev(at)->span.end};
  const char first = state.text(*at).front();
  if (first >= 'A' && first <= 'Z' && std::next(at)->kind != K::OpenParen)
    return diagnostic.help("what records are read as stands behind `as`: `… as {}`", state.text(*at))
        .guess(behind, " as");
  return diagnostic.help("a value is handed on with `|>`: `… |> {}`", state.text(*at)).guess(behind, " |>");
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
  // The first of two names behind `log` says what is recorded: an image.
  if (before != state.begin() && std::prev(before)->kind == K::Log && before->kind == K::Name) return false;
  if (next == K::OpenParen && before->kind == K::CloseParen && is_in_value(state, before)) {
    state.report_at(
        at,
        with_pipe(state, at, diag::unexpected_token(at->span, describe(state.expected_), describe_found(state, at))));
    return true;
  }
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
  // Where there are no locals, `let` is right, and what is missing is its `=`.
  if (level == Level::Statement && at <= std::next(start) && start->kind == K::Let &&
      kNames.has(std::next(start)->kind) && !expects(state, K::Assign)) {
    const Span gone = {start->span.source, start->span.begin, std::next(start)->span.begin};
    state.report_at(at, diag::unexpected_token(start->span, "a statement", "`let`")
                            .help("a local has no `let`: `{} = …`", state.text(*std::next(start)))
                            .fix(gone, ""));
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
  const bool is_assigned =
      lex::is_reserved(at->kind) && std::next(at)->kind == K::Assign && !std::next(at)->starts_line;
  if (is_assigned && at == start) {
    state.report_at(at, diag::reserved_name(at->span, state.text(*at)).help("choose another name"));
    return;
  }
  diagnostics::Diagnostic diagnostic =
      diag::unexpected_token(at->span, describe(state.expected_), describe_found(state, at));
  const bool may_be_handed = at != state.begin() && at->kind == K::Name && std::prev(at)->kind == K::CloseParen &&
                             expects(state, Expected::Separator);
  if (may_be_handed && (std::next(at)->kind == K::Newline || std::next(at)->kind == K::Pipe)) {
    diagnostic = with_pipe(state, at, std::move(diagnostic));
  } else {
    add_help(state, level, start, at, diagnostic);
  }
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
