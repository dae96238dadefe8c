#include "dsl/parse/grammar/leaf.h"

#include <algorithm>
#include <utility>

#include "dsl/diagnostics/suggest.h"
#include "dsl/lex/layout.h"

namespace ltr::parse::grammar {

namespace {

ast::Expr number(const State& state, Iter& first) {
  const lex::Token& token = *first;
  const bool is_int = token.kind == TokenKind::Int;
  const lex::TokenBuffer& buffer = state.buffer();
  ++first;
  if (first->kind != TokenKind::Unit) {
    if (is_int) return {token.span, ast::IntLiteral{buffer.ints[token.value]}};
    return {token.span, ast::FloatLiteral{buffer.floats[token.value]}};
  }
  const Span span = source::join(token.span, first->span);
  const std::string& unit = buffer.strings[first->value];
  ++first;
  if (unit.empty()) return {span, ast::ErrorExpr{}};
  const double value = is_int ? static_cast<double>(buffer.ints[token.value]) : buffer.floats[token.value];
  return {span, ast::Quantity{value, is_int, unit}};
}

/// What stands from `first` to `last` and in the brackets behind it, given up.
ast::Expr skip_call(const State& state, Iter& first, Iter last) {
  const lex::BracketPair* pair =
      last->kind == TokenKind::OpenParen ? state.buffer().find_bracket(state.index(last)) : nullptr;
  const Iter end = pair != nullptr && pair->is_closed ? std::next(state.begin() + pair->closer) : last;
  const Span span = state.span(std::exchange(first, end), end);
  return {span, ast::ErrorExpr{}};
}

/// `log("loss", loss)`, a statement that looks like a call; `first` is its first token, which may be a `self`.
bool parse_log_call(State& state, Iter& first, Iter log, ast::Expr& out) {
  const Iter open = std::next(log), text = std::next(open);
  if (open->kind != TokenKind::OpenParen || text->kind != TokenKind::Str) return false;
  const lex::BracketPair* pair = state.buffer().find_bracket(state.index(open));
  if (pair == nullptr || !pair->is_closed || std::next(text)->kind != TokenKind::Comma) return false;
  const Iter value = std::next(text, 2), close = state.begin() + pair->closer;
  std::string name = state.buffer().strings[text->value];
  std::replace_if(name.begin(), name.end(), [](char c) { return c == '/' || c == '.' || c == '-' || c == ' '; }, '_');
  // The role is said by the step that logs.
  for (const std::string_view role : {"train_", "val_", "test_"}) {
    if (name.starts_with(role) && name.size() > role.size()) name.erase(0, role.size());
  }
  // A comma in brackets is one of the value.
  Iter end = value;
  while (end < close && end->kind != TokenKind::Comma) {
    const lex::BracketPair* inner = lex::is_opener(end->kind) ? state.buffer().find_bracket(state.index(end)) : nullptr;
    end = inner != nullptr && inner->is_closed ? state.begin() + inner->closer + 1 : std::next(end);
  }
  const Span written = state.span(value, end);
  const std::string ours =
      "log " + name + " = " + std::string(state.text().substr(written.begin, written.end - written.begin));
  const Span span = state.span(first, std::next(close));
  diagnostics::Diagnostic diagnostic =
      diag::python_form(span, std::string(state.text(*first)) + (first == log ? "" : ".log") + "(…)", "`" + ours + "`");
  // What is behind a second comma, such as `prog_bar=True`, has a form of its own.
  if (end == close && value != close)
    diagnostic.fix(span, ours);
  else
    diagnostic.help("`bar` behind it shows it in the progress bar, `on epoch` records its mean over the epoch");
  state.report_at(first, std::move(diagnostic));
  out = skip_call(state, first, open);
  return true;
}

/// `True`, `False`, `None`, and the `self.` in front of a member.
bool parse_python_word(State& state, Iter& first, ast::Expr& out) {
  const std::string_view word = state.text(*first);
  const Span span = first->span;
  const auto literal = [&](std::string_view ours, auto node) {
    state.report_at(first, diag::python_form(span, word, "`" + std::string(ours) + "`").fix(span, std::string(ours)));
    out = ast::Expr{span, std::move(node)};
    ++first;
    return true;
  };
  if (word == "True") return literal("true", ast::BoolLiteral{true});
  if (word == "False") return literal("false", ast::BoolLiteral{false});
  // Whether `none` may stand there is another question.
  if (word == "None") return literal("none", ast::ErrorExpr{});
  const Iter dot = std::next(first);
  if (word == "self" && dot->kind == TokenKind::Dot && kWords.has(std::next(dot)->kind)) {
    const Iter member = std::next(dot);
    const ast::Name name = state.name(*member);
    if (const auto advice = diagnostics::foreign_advice(name.text)) {
      state.report_at(first,
                      diag::python_form(state.span(first, std::next(member)), "self." + name.text, "written otherwise")
                          .help("{}", std::string(*advice)));
      out = skip_call(state, first, std::next(member));
      return true;
    }
    if (member->kind == TokenKind::Log && parse_log_call(state, first, member, out)) return true;
    state.report_at(first,
                    diag::python_form(source::join(span, dot->span), "self.", "nothing: a member is called by its name")
                        .fix(source::join(span, dot->span), ""));
    first = std::next(member);
    out = ast::Expr{name.span, ast::NameRef{name}};
    return true;
  }
  return false;
}

/// `:=`, which the lexer hands on as `=`.
bool is_walrus(const State& state, Iter at) { return at->kind == TokenKind::Assign && state.text(*at) == ":="; }

}  // namespace

bool parse_leaf(State& state, Iter& first, ast::Expr& out) {
  const lex::Token& token = *first;
  switch (token.kind) {
    case TokenKind::Int:
    case TokenKind::Float: out = number(state, first); return true;
    case TokenKind::Str: {
      ast::StrLiteral literal;
      const std::string& text = state.buffer().strings[token.value];
      if (!text.empty()) literal.parts.push_back({text, {}, {}, token.span});
      out = ast::Expr{token.span, std::move(literal)};
      break;
    }
    case TokenKind::True: out = ast::Expr{token.span, ast::BoolLiteral{true}}; break;
    case TokenKind::False: out = ast::Expr{token.span, ast::BoolLiteral{false}}; break;
    case TokenKind::None: out = ast::Expr{token.span, ast::NoneLiteral{}}; break;
    case TokenKind::Error: out = ast::Expr{token.span, ast::ErrorExpr{}}; break;
    default:
      if (!kNames.has(token.kind)) return false;
      if (token.kind == TokenKind::Name && parse_python_word(state, first, out)) return true;
      if (token.kind == TokenKind::Log && parse_log_call(state, first, first, out)) return true;
      out = ast::Expr{token.span, ast::NameRef{state.name(token)}};
  }
  ++first;
  return true;
}

bool parse_braces(State& state, Iter& first, ast::Expr& out) {
  if (first->kind != TokenKind::OpenBrace) return false;
  const Iter next = std::next(first);
  const Iter after = next->kind == TokenKind::End ? next : std::next(next);
  const bool is_key = kNames.has(next->kind) || next->kind == TokenKind::Str || next->kind == TokenKind::Int;
  const bool is_record = next->kind == TokenKind::CloseBrace ||
                         (is_key && (after->kind == TokenKind::Colon || after->kind == TokenKind::Assign ||
                                     after->kind == TokenKind::Comma || after->kind == TokenKind::CloseBrace));
  const lex::BracketPair* pair = state.buffer().find_bracket(state.index(first));
  if (!is_record || pair == nullptr || !pair->is_closed) return false;

  const Iter close = state.begin() + pair->closer;
  diagnostics::Diagnostic diagnostic = diag::record_in_braces(first->span);
  // With `=` already there, only the brackets differ.
  if (after->kind == TokenKind::Assign) {
    diagnostic.fix(first->span, "(").fix(close->span, ")");
  } else if (next->kind == TokenKind::Str) {
    diagnostic.help("there are no dictionaries; the fields of a record have names, not strings");
  } else {
    diagnostic.help("a field is written `name = value`");
  }
  state.report_at(first, std::move(diagnostic));
  const Iter start = first;
  first = std::next(close);
  out = ast::Expr{state.span(start, first), ast::ErrorExpr{}};
  return true;
}

bool parse_walrus(State& state, Iter& first, ast::Expr& out) {
  if (first->kind != TokenKind::OpenParen) return false;
  const Iter name = std::next(first);
  if (!kNames.has(name->kind) || !is_walrus(state, std::next(name))) return false;
  const lex::BracketPair* pair = state.buffer().find_bracket(state.index(first));
  if (pair == nullptr || !pair->is_closed) return false;
  const Iter start = first;
  first = std::next(state.begin() + pair->closer);
  out = ast::Expr{state.span(start, first), ast::ErrorExpr{{state.name(*name)}}};
  return true;
}

}  // namespace ltr::parse::grammar
