#include "dsl/lex/layout.h"

#include <algorithm>
#include <array>
#include <utility>

#include "dsl/lex/scanner.h"

namespace ltr::lex {

bool joins_next_line(TokenKind kind) {
  switch (kind) {
    case TokenKind::OpenParen:
    case TokenKind::OpenBracket:
    case TokenKind::OpenBrace:
    case TokenKind::Comma:
    case TokenKind::Assign:
    case TokenKind::PlusAssign:
    case TokenKind::MinusAssign:
    case TokenKind::StarAssign:
    case TokenKind::SlashAssign:
    case TokenKind::FatArrow:
    case TokenKind::Arrow:
    case TokenKind::Dot:
    case TokenKind::Range:
    case TokenKind::Pipe:
    case TokenKind::Plus:
    case TokenKind::Minus:
    case TokenKind::Star:
    case TokenKind::Slash:
    case TokenKind::Percent:
    case TokenKind::At:
    case TokenKind::Power:
    case TokenKind::Equal:
    case TokenKind::NotEqual:
    case TokenKind::Less:
    case TokenKind::LessEqual:
    case TokenKind::Greater:
    case TokenKind::GreaterEqual:
    case TokenKind::And:
    case TokenKind::Or:
    case TokenKind::Not:
    case TokenKind::In:
    case TokenKind::As: return true;
    default: return false;
  }
}

namespace {

/// The statement goes on with a line that begins so.
bool joins_line_before(const Token& token, const Token& next) {
  switch (token.kind) {
    case TokenKind::Pipe:
    case TokenKind::Dot:
    case TokenKind::CloseParen:
    case TokenKind::CloseBracket:
    case TokenKind::Arrow:
    case TokenKind::Else: return true;
    case TokenKind::Where:
      // A field, setting or variable may have that name.
      switch (next.kind) {
        case TokenKind::Assign:
        case TokenKind::PlusAssign:
        case TokenKind::MinusAssign:
        case TokenKind::StarAssign:
        case TokenKind::SlashAssign:
        case TokenKind::Colon:
        case TokenKind::Dot:
        case TokenKind::Comma: return false;
        default: return true;
      }
    default: return false;
  }
}

/// `x =` with nothing behind it: the next line, which begins at `at`, is an assignment or a declaration of its own,
/// and no value.
bool lacks_value(TokenKind last, const std::vector<Token>& tokens, size_t at) {
  constexpr std::array kOthers = {TokenKind::Fn,    TokenKind::Let,      TokenKind::Weight, TokenKind::Buffer,
                                  TokenKind::Step,  TokenKind::State,    TokenKind::On,     TokenKind::Optimizer,
                                  TokenKind::Log,   TokenKind::Minimize, TokenKind::Return, TokenKind::Print,
                                  TokenKind::Assert};
  if (last == TokenKind::Comma || is_opener(last)) return false;
  const Token& next = tokens[at + 1];
  if (starts_declaration(tokens[at], next)) return true;
  if (std::find(kOthers.begin(), kOthers.end(), tokens[at].kind) != kOthers.end() && next.kind == TokenKind::Name &&
      !next.starts_line) {
    return true;
  }
  // NAME { "." NAME } "="
  while (is_name(tokens[at].kind) && tokens[at + 1].kind == TokenKind::Dot && is_word(tokens[at + 2].kind)) at += 2;
  return is_word(tokens[at].kind) && tokens[at + 1].kind == TokenKind::Assign;
}

}  // namespace

bool starts_declaration(const Token& token, const Token& next) {
  if (!token.starts_line || next.starts_line) return false;
  switch (token.kind) {
    case TokenKind::Hparam:
    case TokenKind::Const:
    case TokenKind::Metric:
    case TokenKind::Data:
    case TokenKind::Block:
    case TokenKind::Model:
    case TokenKind::Callback:
    case TokenKind::Topology:
    case TokenKind::Experiment: return is_name(next.kind);
    case TokenKind::Extern:
    case TokenKind::Test: return next.kind == TokenKind::Str || next.kind == TokenKind::StrBegin;
    case TokenKind::Import: return is_name(next.kind) || next.kind == TokenKind::Str;
    default:  // Every other kind may stand inside brackets.
      return false;
  }
}

bool joins_lines(const std::vector<Token>& tokens, size_t at) {
  if (at == 0 || tokens[at].kind == TokenKind::End) return false;
  return joins_line_before(tokens[at], tokens[at + 1]) ||
         (joins_next_line(tokens[at - 1].kind) && !lacks_value(tokens[at - 1].kind, tokens, at));
}

void lay_out(TokenBuffer& buffer) {
  const std::vector<BracketPair> raw_pairs = pair_brackets(buffer.tokens);
  std::vector<Token> tokens;
  tokens.reserve(buffer.tokens.size() + buffer.tokens.size() / 8);
  std::vector<uint32_t> moved(buffer.tokens.size());  // Old index to new index.
  std::vector<const BracketPair*> enclosing;
  size_t next_pair = 0;
  for (uint32_t i = 0; i < buffer.tokens.size(); ++i) {
    const Token& token = buffer.tokens[i];
    while (!enclosing.empty() && enclosing.back()->closer <= i) enclosing.pop_back();
    if (token.starts_line && i > 0) {
      // An unclosed `(` does not join lines: the rest of the file would become one statement.
      bool is_inside = false;
      if (!enclosing.empty()) {
        const TokenKind opener = buffer.tokens[enclosing.back()->opener].kind;
        is_inside = enclosing.back()->is_closed && opener != TokenKind::OpenBrace;
      }
      const TokenKind last = tokens.back().kind;
      if (!is_inside && last != TokenKind::Newline && !joins_lines(buffer.tokens, i)) {
        Token newline;
        newline.kind = TokenKind::Newline;
        newline.span = {buffer.source, tokens.back().span.end, tokens.back().span.end};
        tokens.push_back(newline);
      }
    }
    moved[i] = static_cast<uint32_t>(tokens.size());
    tokens.push_back(token);
    if (next_pair < raw_pairs.size() && raw_pairs[next_pair].opener == i) {
      enclosing.push_back(&raw_pairs[next_pair]);
      ++next_pair;
    }
  }
  buffer.brackets = raw_pairs;
  for (BracketPair& pair : buffer.brackets) {
    pair.opener = moved[pair.opener];
    pair.closer = moved[pair.closer];
  }
  buffer.tokens = std::move(tokens);
}

}  // namespace ltr::lex
