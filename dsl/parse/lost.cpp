#include "dsl/parse/lost.h"

#include <utility>

// What would have been declared, assigned or imported where the program could not be read: its uses are no mistakes of their own.
namespace ltr::parse {

namespace {

using K = TokenKind;

/// The names that the lines of a body assign, which was given up with its header.
std::vector<ast::Name> find_assigned_within(const State& state, Iter first, Iter last) {
  constexpr KindSet kBefore = {K::OpenBrace, K::Semicolon, K::Newline};
  constexpr KindSet kAssigns = {K::Assign, K::Colon};
  std::vector<ast::Name> names;
  for (Iter at = first; at < last; ++at) {
    const bool begins_line = at != first && kBefore.has(std::prev(at)->kind);
    if (begins_line && kNames.has(at->kind) && kAssigns.has(std::next(at)->kind)) names.push_back(state.name(*at));
  }
  return names;
}

/// Whether what is named there has a head as declarations have, and no call: `N(n: int) {`, `t[B](x: float[B]) -> float`.
bool has_head(const State& state, Iter name) {
  constexpr KindSet kBehind = {K::OpenBrace, K::Arrow, K::Assign};
  const auto behind = find_behind_brackets(state, std::next(name));
  return behind && kBehind.has((*behind)->kind);
}

}  // namespace

std::optional<Iter> find_behind_brackets(const State& state, Iter at) {
  while (at->kind == K::OpenParen || at->kind == K::OpenBracket) {
    const lex::BracketPair* pair = state.buffer().find_bracket(state.index(at));
    if (pair == nullptr || !pair->is_closed) return std::nullopt;
    at = state.begin() + pair->closer + 1;
  }
  return at;
}

bool lacks_sign(const State& state, Iter name) {
  constexpr KindSet kBeginsValue = {K::Int, K::Float, K::Str, K::If, K::Minus};
  constexpr KindSet kAssigns = {K::Assign, K::Colon};
  const Iter next = std::next(name);
  if (name->kind != K::Name || next->starts_line || is_first_word_elsewhere(state.text(*name))) return false;
  return kBeginsValue.has(next->kind) ||
         (kNames.has(next->kind) && !kAssigns.has(std::next(next)->kind) && !has_head(state, next));
}

std::vector<ast::Name> find_unpacked(const State& state, Iter first, Iter last) {
  std::vector<ast::Name> names;
  // `let x = …` is a habit; it would have assigned x.
  if (first < last && std::next(first) < last && kNames.has(std::next(first)->kind)) ++first;
  for (Iter at = first; at < last; ++at) {
    while (at < last && at->kind == K::OpenParen) ++at;
    if (at >= last || !kNames.has(at->kind)) break;
    names.push_back(state.name(*at));
    for (++at; at < last && at->kind == K::CloseParen;) ++at;
    if (at >= last || at->kind != K::Comma) {
      const bool assigns = at < last && (at->kind == K::Assign || at->kind == K::Colon);
      return assigns ? names : std::vector<ast::Name>();
    }
  }
  return {};
}

std::vector<ast::Name> find_assigned(const State& state, Iter first, Iter last) {
  std::vector<ast::Name> names = find_unpacked(state, first, last);
  if (names.empty()) names = find_assigned_within(state, first, last);
  if (names.empty() && first < last && lacks_sign(state, first)) names.push_back(state.name(*first));
  return names;
}

std::string file_stem(std::string_view path) {
  path.remove_prefix(path.rfind('/') + 1);
  return std::string(path.substr(0, path.find('.')));
}

// `x` of `x float`, and of `i64[B] x`: a type may come first.
ast::Name find_param(const State& state, Iter first, Iter last) {
  // What could have been any number of them has no name, and then what is unknown may be one of them.
  if (first < last && (is_base_class(state, first) || state.text(*first) == "batch")) return {};
  for (Iter at = first; at < last; ++at) {
    if (at != first && kNames.has(at->kind) && std::next(at)->kind == K::Colon) return {};
  }
  if (first < last && std::next(first) < last && std::next(first)->kind == K::OpenBracket) {
    const lex::BracketPair* pair = state.buffer().find_bracket(state.index(std::next(first)));
    const Iter name = state.begin() + pair->closer + 1;
    if (pair->is_closed && name < last && kNames.has(name->kind)) return state.name(*name);
  }
  return first < last && kNames.has(first->kind) ? state.name(*first) : ast::Name{};
}

// The last of the words that it begins with: `prepare` of `fn fn prepare(`.
ast::Name find_declared(const State& state, Iter first, Iter last) {
  ast::Name found;
  if (last - first > 2 && state.text(*first) == "self" && std::next(first)->kind == K::Dot) first += 2;
  for (Iter at = first; at < last && lex::is_word(at->kind); ++at) {
    if (kNames.has(at->kind)) found = state.name(*at);
    if (lacks_sign(state, at)) break;
  }
  return found;
}

std::vector<ast::Name> find_members(const State& state, Iter first, Iter last) {
  std::vector<ast::Name> names;
  if (ast::Name name = find_declared(state, first, last); !name.text.empty()) names.push_back(std::move(name));
  for (Iter at = first; last - at > 3; ++at) {
    if (at->starts_line && state.text(*at) == "self" && std::next(at)->kind == K::Dot && (at + 3)->kind == K::Assign)
      names.push_back(state.name(*(at + 2)));
  }
  return names;
}

ast::Decl find_lost(const State& state, Iter first, Iter last) {
  ast::Decl lost{.span = state.span(first, last), .doc = {}, .node = ast::ErrorDecl{}};
  if (first == last || (first->kind != K::Import && state.text(*first) != "from")) {
    const ast::Name name = find_declared(state, first, last);
    if (!name.text.empty()) lost.node = ast::ErrorDecl{{name}};
    return lost;
  }
  ast::Import import;
  import.has_names = true;
  for (Iter at = std::next(first); at < last; ++at) {
    if (kNames.has(at->kind) || at->kind == K::Star) import.names.push_back(state.name(*at));
    if (at->kind == K::Str) import.names.push_back({file_stem(state.buffer().strings[at->value]), at->span});
  }
  lost.node = std::move(import);
  return lost;
}

}  // namespace ltr::parse
