#include "dsl/parse/state.h"

#include <algorithm>
#include <set>
#include <utility>

#include "dsl/source/line_index.h"

namespace ltr::parse {

namespace {

std::string describe_label(Expected label) {
  switch (label) {
    case Expected::Name: return "a name";
    case Expected::Expression: return "a value";
    case Expected::Type: return "a type";
    case Expected::Dim: return "a dim";
    case Expected::Parameter: return "a parameter";
    case Expected::Statement: return "a statement";
    case Expected::Declaration:
      return "a declaration (import, hparam, const, fn, extern, metric, data, block, model, callback, topology, "
             "experiment or test)";
    case Expected::BlockMember: return "a member (`name = value`, let, weight, buffer or fn)";
    case Expected::ModelMember: return "a member (`name = value`, let, weight, buffer, fn, optimizer, init or step)";
    case Expected::MetricMember: return "state, let or fn";
    case Expected::DataMember: return "batch, let, fn or a stream";
    case Expected::CallbackMember: return "on, state or fn";
    case Expected::Setting: return "a setting (`name = value`)";
    case Expected::Section: return "a setting, a section or set";
    case Expected::LoadRule: return "rename, skip or freeze";
    case Expected::Reduction: return "sum, mean, min, max, cat or merge";
    case Expected::LogReduction: return "sum, mean, min or max";
    case Expected::LogWhen: return "step, epoch or both";
    case Expected::Separator: return "end of line";
    case Expected::Count: break;
  }
  return "something else";
}

}  // namespace

std::string describe(const ExpectedSet& expected) {
  std::vector<std::string> names;
  // Labels first: they say more than single tokens.
  for (size_t i = lex::kTokenKinds; i < expected.size(); ++i) {
    if (expected.test(i) && static_cast<Expected>(i) != Expected::Separator) {
      names.push_back(describe_label(static_cast<Expected>(i)));
    }
  }
  for (size_t i = 0; i < lex::kTokenKinds; ++i) {
    if (expected.test(i)) names.push_back(lex::describe(static_cast<TokenKind>(i)));
  }
  if (expected.test(static_cast<size_t>(Expected::Separator))) names.push_back(describe_label(Expected::Separator));
  std::string out;
  for (size_t i = 0; i < names.size(); ++i) {
    if (i > 0) out += i + 1 == names.size() ? " or " : ", ";
    out += names[i];
  }
  return out.empty() ? "something else" : out;
}

State::State(const lex::TokenBuffer& buffer, std::string_view text, diagnostics::Sink& sink)
    : furthest_(buffer.tokens.begin()),
      limit_(std::prev(buffer.tokens.end())),
      buffer_(buffer),
      tokens_(buffer.tokens),
      text_(text),
      sink_(sink) {}

Span State::span(Iter first, Iter last) const {
  Span span = first->span;
  if (first == last) {
    span.end = span.begin;
  } else {
    span.end = std::prev(last)->span.end;
  }
  return span;
}

void State::report(diagnostics::Diagnostic diagnostic) {
  ++mistakes_;
  sink_.report(std::move(diagnostic));
}

void State::report_at(Iter at, diagnostics::Diagnostic diagnostic) {
  mark_reported(at);
  sink_.report(std::move(diagnostic));
}

void State::report_unclosed(const lex::BracketPair& pair, Iter found) {
  if (std::find(reported_openers_.begin(), reported_openers_.end(), pair.opener) != reported_openers_.end()) return;
  reported_openers_.push_back(pair.opener);
  const lex::Token& opener = tokens_[pair.opener];
  const std::string closer = opener.kind == TokenKind::OpenParen     ? ")"
                             : opener.kind == TokenKind::OpenBracket ? "]"
                                                                     : "}";
  diagnostics::Diagnostic diagnostic = diag::unclosed_bracket(opener.span, text(opener));
  const Span end =
      found->kind == TokenKind::Newline || found->kind == TokenKind::End ? std::prev(found)->span : found->span;
  if (found->kind == TokenKind::End || found->kind == TokenKind::Newline) {
    diagnostic.label({end.source, end.end, end.end}, "`{}` is missing here at the latest", closer);
  } else {
    diagnostic.label(end, "`{}` is missing before this", closer);
  }
  report_at(begin() + pair.opener, std::move(diagnostic));
}

void State::report_remaining_brackets() {
  // All brackets that end at one token are one mistake more often than several.
  std::set<uint32_t> explained;
  std::sort(reported_at_.begin(), reported_at_.end());
  for (const lex::BracketPair& pair : buffer_.brackets) {
    if (pair.is_closed) continue;
    const auto error = std::lower_bound(reported_at_.begin(), reported_at_.end(), pair.opener);
    if (error != reported_at_.end() && *error <= pair.closer) explained.insert(pair.closer);
  }
  for (const lex::BracketPair& pair : buffer_.brackets) {
    if (!pair.is_closed && explained.insert(pair.closer).second) report_unclosed(pair, begin() + pair.closer);
  }
}

}  // namespace ltr::parse
