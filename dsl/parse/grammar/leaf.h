#pragma once

#include "dsl/parse/token_parser.h"

namespace ltr::parse::grammar {

/// Reads the expressions of one word: numbers with their units, strings, `true`, names. False if `first` begins
/// none of them.
bool parse_leaf(State& state, Iter& first, ast::Expr& out);

/// `{ … }` where a value is wanted: reported as a record in the wrong brackets and passed over.
bool parse_braces(State& state, Iter& first, ast::Expr& out);

/// `(n := value)`, which the lexer reported: the value is not known, the name is.
bool parse_walrus(State& state, Iter& first, ast::Expr& out);

struct Leaf : x3::parser<Leaf> {
  using attribute_type = ast::Expr;
  static const bool has_attribute = true;
  template <class C, class RContext>
  bool parse(Iter& first, const Iter&, const C& context, RContext&&, ast::Expr& out) const {
    State& state = state_of(context);
    return parse_leaf(state, first, out) || parse_braces(state, first, out) || parse_walrus(state, first, out);
  }
};
inline const Leaf leaf{};

}  // namespace ltr::parse::grammar
