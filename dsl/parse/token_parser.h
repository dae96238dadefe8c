#pragma once

#include <boost/spirit/home/x3.hpp>
#include <string>
#include <utility>

#include "dsl/parse/state.h"

/// The primitives of the grammar: X3 parsers of one token, and the directives of ours around others.
namespace ltr::parse {

namespace x3 = boost::spirit::x3;

struct StateTag {};
using Context = x3::context<StateTag, State>;
using Failure = x3::expectation_failure<Iter>;

State& state_of(const auto& context) { return x3::get<StateTag>(context); }

/// `which` of a failure whose message was given where it was found.
inline constexpr const char* kReported = "reported";
inline constexpr const char* kNesting = "nesting";
inline constexpr const char* kHeight = "height";

/// One token of `kinds`; its attribute is the token.
struct OneOf : x3::parser<OneOf> {
  using attribute_type = lex::Token;
  static const bool has_attribute = true;
  KindSet kinds;
  Expected wanted = Expected::Count;
  bool is_quiet = false;  ///< of operators: naming every one would drown what is missing

  OneOf(KindSet set, Expected what, bool quiet) : kinds(set), wanted(what), is_quiet(quiet) {}
  template <class Context, class Attribute>
  bool parse(Iter& first, const Iter&, const Context& context, x3::unused_type, Attribute& attribute) const {
    return parse_token(first, context, attribute);
  }
  template <class Context, class RContext, class Attribute>
  bool parse(Iter& first, const Iter&, const Context& context, RContext&, Attribute& attribute) const {
    return parse_token(first, context, attribute);
  }

 private:
  template <class Context, class Attribute>
  bool parse_token(Iter& first, const Context& context, Attribute& attribute) const {
    if (kinds.has(first->kind)) {
      x3::traits::move_to(lex::Token(*first), attribute);
      if (first->kind != TokenKind::End) ++first;
      return true;
    }
    if (!is_quiet) state_of(context).refuse(first, wanted);
    return false;
  }
};
inline OneOf token(TokenKind kind) { return {kind, static_cast<Expected>(kind), false}; }
inline OneOf token(KindSet kinds, Expected wanted) { return {kinds, wanted, false}; }
inline OneOf quiet(KindSet kinds) { return {kinds, Expected::Count, true}; }
inline auto skip(TokenKind kind) { return x3::omit[token(kind)]; }
inline auto skip_quietly(TokenKind kind) { return x3::omit[quiet(kind)]; }

/// A name; its attribute is an `ast::Name`.
struct NameParser : x3::parser<NameParser> {
  using attribute_type = ast::Name;
  static const bool has_attribute = true;
  KindSet kinds = kNames;
  Expected wanted = Expected::Name;

  explicit NameParser(KindSet set, Expected what = Expected::Name) : kinds(set), wanted(what) {}
  template <class Context, class RContext, class Attribute>
  bool parse(Iter& first, const Iter&, const Context& context, RContext&&, Attribute& attribute) const {
    State& state = state_of(context);
    if (!kinds.has(first->kind)) {
      state.refuse(first, wanted);
      return false;
    }
    x3::traits::move_to(state.name(*first), attribute);
    ++first;
    return true;
  }
};
inline const NameParser name{kNames};
inline const NameParser any_word{kWords};

/// A string without interpolation; `what` says in a message which one.
struct PlainString {
  std::string text;
  Span span;
};
struct StringParser : x3::parser<StringParser> {
  using attribute_type = PlainString;
  static const bool has_attribute = true;
  const char* what;

  explicit StringParser(const char* description) : what(description) {}
  template <class Context, class RContext, class Attribute>
  bool parse(Iter& first, const Iter&, const Context& context, RContext&&, Attribute& attribute) const {
    State& state = state_of(context);
    if (first->kind == TokenKind::StrBegin) {
      const Iter start = first;
      while (first->kind != TokenKind::StrEnd) ++first;
      ++first;
      state.report_at(start, diag::interpolated_here(state.span(start, first), what, "{…}"));
      x3::traits::move_to(PlainString{"", state.span(start, first)}, attribute);
      return true;
    }
    if (first->kind != TokenKind::Str) {
      state.refuse(first, TokenKind::Str);
      return false;
    }
    x3::traits::move_to(PlainString{state.buffer().strings[first->value], first->span}, attribute);
    ++first;
    return true;
  }
};
inline StringParser string(const char* what) { return StringParser{what}; }

/// Succeeds, without moving, if the next tokens are of these kinds.
template <size_t N>
struct Ahead : x3::parser<Ahead<N>> {
  using attribute_type = x3::unused_type;
  static const bool has_attribute = false;
  std::array<KindSet, N> kinds;

  explicit Ahead(std::array<KindSet, N> sets) : kinds(sets) {}
  template <class Context, class RContext, class Attribute>
  bool parse(Iter& first, const Iter&, const Context&, RContext&&, Attribute&&) const {
    Iter at = first;
    for (const KindSet& set : kinds) {
      if (!set.has(at->kind)) return false;
      if (at->kind != TokenKind::End) ++at;
    }
    return true;
  }
};
template <class... Sets>
auto ahead(const Sets&... sets) {
  return Ahead<sizeof...(Sets)>{std::array<KindSet, sizeof...(Sets)>{KindSet(sets)...}};
}

/// Whether the next entry begins at `at`, on the line of one that is complete; then the separator between them was said to be
/// missing.
bool report_missing_separator(State& state, Iter at);

/// The end of a statement or entry: a separator, or the end of the braces around it. Takes nothing. An entry whose
/// own braces were never closed has taken the end of its line already.
struct EndOfEntry : x3::parser<EndOfEntry> {
  using attribute_type = x3::unused_type;
  static const bool has_attribute = false;

  template <class Context, class RContext, class Attribute>
  bool parse(Iter& first, const Iter&, const Context& context, RContext&&, Attribute&&) const {
    State& state = state_of(context);
    const TokenKind kind = first->kind;
    if (kind == TokenKind::Newline || kind == TokenKind::Semicolon || kind == TokenKind::End ||
        (kind == TokenKind::Comma && state.takes_comma_) || first >= state.limit_ ||
        (first != state.begin() && std::prev(first)->kind == TokenKind::Newline)) {
      return true;
    }
    state.refuse(first, Expected::Separator);
    return report_missing_separator(state, first);
  }
};
inline const EndOfEntry end_of_entry{};

/// Fails as a mistake whose message was already given.
[[noreturn]] inline void fail_reported(Iter where) { throw Failure(where, kReported); }

/// Counts the level of nesting; one stands in every recursive cycle of the grammar.
template <class Subject>
struct Nested : x3::unary_parser<Subject, Nested<Subject>> {
  static const bool is_pass_through_unary = true;
  using x3::unary_parser<Subject, Nested<Subject>>::unary_parser;
  template <class Context, class RContext, class Attribute>
  bool parse(Iter& first, const Iter& last, const Context& context, RContext& rcontext, Attribute& attribute) const {
    struct Frame {
      State& state;
      int height;
      ~Frame() {
        --state.depth_;
        state.height_ = std::max(height, state.height_ + 1);
      }
    } frame{state_of(context), state_of(context).height_};
    frame.state.height_ = 0;
    if (++frame.state.depth_ > kMaxNesting) throw Failure(first, kNesting);
    return this->subject.parse(first, last, context, rcontext, attribute);
  }
};
template <class Subject>
auto nested(const Subject& subject) {
  return Nested<typename x3::extension::as_parser<Subject>::value_type>{x3::as_parser(subject)};
}

/// One more operation on top of what was parsed.
inline void grow(State& state, Iter where) {
  if (++state.height_ > kMaxHeight) throw Failure(where, kHeight);
}

/// Calls what may begin here by one name, in place of the tokens that may begin it.
template <class Subject>
struct Labelled : x3::unary_parser<Subject, Labelled<Subject>> {
  static const bool is_pass_through_unary = true;
  Expected label;
  Labelled(const Subject& inner, Expected what) : x3::unary_parser<Subject, Labelled<Subject>>(inner), label(what) {}
  template <class Context, class RContext, class Attribute>
  bool parse(Iter& first, const Iter& last, const Context& context, RContext& rcontext, Attribute& attribute) const {
    State& state = state_of(context);
    const Iter start = first;
    const ExpectedSet before = state.furthest_ == start ? state.expected_ : ExpectedSet();
    const bool is_parsed = this->subject.parse(first, last, context, rcontext, attribute);
    if (state.furthest_ == start) state.expected_ = before;
    if (!is_parsed || state.furthest_ == start) state.refuse(start, label);
    return is_parsed;
  }
};
template <class Subject>
auto labelled(Expected label, const Subject& subject) {
  using Parser = typename x3::extension::as_parser<Subject>::value_type;
  return Labelled<Parser>{x3::as_parser(subject), label};
}

inline void mark_error(const State& state, ast::Expr& node, Iter first, Iter last) {
  node = ast::Expr{state.span(first, last), ast::ErrorExpr{}};
}
inline bool has_body(const ast::Stmt& node) {
  return node.get<ast::If>() != nullptr || node.get<ast::For>() != nullptr || node.get<ast::While>() != nullptr ||
         node.get<ast::Every>() != nullptr || node.get<ast::NoGrad>() != nullptr;
}
inline void mark_error(const State& state, ast::Stmt& node, Iter first, Iter last) {
  // The body of a statement that has one was read; what another one does is not known.
  if (!node.span.is_empty() && has_body(node)) return;
  node = ast::Stmt{state.span(first, last), ast::ErrorStmt{find_assigned(state, first, last)}};
}
inline void mark_error(const State& state, ast::Item& node, Iter first, Iter last) {
  if (!node.span.is_empty()) return;
  node = ast::Item{state.span(first, last), {}, ast::ErrorItem{find_members(state, first, last)}};
}
inline void mark_error(const State& state, ast::Decl& node, Iter first, Iter last) {
  if (!node.span.is_empty() && node.get<ast::Import>() == nullptr) return;
  node = find_lost(state, first, last);
}
inline void mark_error(const State& state, ast::Param& node, Iter first, Iter last) {
  node.name = find_param(state, first, last);
  node.span = state.span(first, last);
  node.type = ast::TypeExpr{node.span, ast::ErrorType{}};
}
inline void mark_error(const State&, x3::unused_type, Iter, Iter) {}

/// Reports what goes wrong inside, leaves an error node, and goes on after it. A node that was complete when
/// something behind it was wrong is kept.
template <class Subject>
struct Recovering : x3::unary_parser<Subject, Recovering<Subject>> {
  static const bool is_pass_through_unary = true;
  Level level;
  Recovering(const Subject& inner, Level how_much)
      : x3::unary_parser<Subject, Recovering<Subject>>(inner), level(how_much) {}
  template <class Context, class RContext, class Attribute>
  bool parse(Iter& first, const Iter& last, const Context& context, RContext& rcontext, Attribute& attribute) const {
    State& state = state_of(context);
    const Iter start = first;
    const Iter limit = state.limit_;
    const bool takes_comma = state.takes_comma_;
    if (state.depth_ < kMaxNesting / 2) state.is_nesting_told_ = false;
    Iter where = start;
    int limit_passed = 0;
    bool is_reported = false;
    try {
      if (this->subject.parse(first, last, context, rcontext, attribute)) return true;
      // A value may be absent; whoever wants one says so.
      if (level == Level::Value || level == Level::Condition || level == Level::Parameter) return false;
    } catch (const Failure& failure) {
      where = failure.where();
      limit_passed = failure.which() == kNesting ? kMaxNesting : failure.which() == kHeight ? kMaxHeight : 0;
      is_reported = failure.which() == kReported;
      // Where a value is too deep, what is around it is about to be: one message for the whole statement.
      if (limit_passed > 0 && (level == Level::Value || level == Level::Condition || level == Level::Parameter)) throw;
    }
    state.limit_ = limit;
    state.takes_comma_ = takes_comma;
    if (limit_passed > 0) {
      report_nesting(state, where, limit_passed);
    } else if (!is_reported) {
      report_failure(state, level, start, where);
    }
    first = find_resumption(state, level, start,
                            limit_passed > 0 || is_reported ? where : std::max(where, state.furthest_));
    state.furthest_ = first;
    state.expected_.reset();
    mark_error(state, attribute, start, first);
    return true;
  }
};
template <class Subject>
auto recovering(Level level, const Subject& subject) {
  using Parser = typename x3::extension::as_parser<Subject>::value_type;
  return Recovering<Parser>{x3::as_parser(subject), level};
}

/// `{ entry … }`: any number of entries with separators between them. A forgotten `}` is reported here, so that
/// what was read inside is kept; so is the colon that Python has in front of a body, in braces or indented.
template <class Subject>
struct Braced : x3::unary_parser<Subject, Braced<Subject>> {
  static const bool is_pass_through_unary = true;
  bool takes_comma;
  bool is_body;
  Braced(const Subject& inner, bool with_comma, bool of_body)
      : x3::unary_parser<Subject, Braced<Subject>>(inner), takes_comma(with_comma), is_body(of_body) {}
  template <class Context, class RContext, class Attribute>
  bool parse(Iter& first, const Iter& last, const Context& context, RContext& rcontext, Attribute& attribute) const {
    State& state = state_of(context);
    if (is_body && first->kind == TokenKind::Colon && std::next(first)->kind == TokenKind::OpenBrace) {
      state.report_at(first, python_colon(first->span).fix(first->span, ""));
      ++first;
    }
    if (const Iter end = is_body ? find_indented_end(state, first) : first; end != first) {
      state.report_at(first, python_colon(first->span));
      const Iter colon = first;
      entries(++first, end, last, context, rcontext, attribute);
      first = skip_own_brace(state, colon, end);
      return true;
    }
    if (first->kind != TokenKind::OpenBrace) {
      state.refuse(first, TokenKind::OpenBrace);
      return false;
    }
    const lex::BracketPair pair = *state.buffer().find_bracket(state.index(first));
    const Iter end = state.begin() + pair.closer;
    entries(++first, end, last, context, rcontext, attribute);
    if (pair.is_closed) {
      first = end + 1;
    } else {
      state.report_unclosed(pair, end);
    }
    return true;
  }

 private:
  template <class Context, class RContext, class Attribute>
  void entries(Iter& first, Iter end, const Iter& last, const Context& context, RContext& rcontext,
               Attribute& attribute) const {
    State& state = state_of(context);
    const Iter outer_limit = std::exchange(state.limit_, end);
    const bool outer_comma = std::exchange(state.takes_comma_, takes_comma);
    for (;;) {
      while (first < end && is_separator(first->kind)) ++first;
      if (first >= end || !this->subject.parse(first, last, context, rcontext, attribute)) break;
    }
    state.limit_ = outer_limit;
    state.takes_comma_ = outer_comma;
  }
  bool is_separator(TokenKind kind) const {
    return kind == TokenKind::Newline || kind == TokenKind::Semicolon || (takes_comma && kind == TokenKind::Comma);
  }
};
template <class Subject>
auto braced_statements(const Subject& subject) {
  using Parser = typename x3::extension::as_parser<Subject>::value_type;
  return Braced<Parser>{x3::as_parser(subject), false, true};
}
template <class Subject>
auto braced_entries(const Subject& subject) {
  using Parser = typename x3::extension::as_parser<Subject>::value_type;
  return Braced<Parser>{x3::as_parser(subject), true, true};
}
template <class Subject>
auto braced_fields(const Subject& subject) {
  using Parser = typename x3::extension::as_parser<Subject>::value_type;
  return Braced<Parser>{x3::as_parser(subject), true, false};
}

/// `element { "," element } [ "," ]`; the actions are in `element`.
template <class Subject>
auto separated(const Subject& element) {
  return element >> *(skip(TokenKind::Comma) >> element) >> -skip(TokenKind::Comma);
}

}  // namespace ltr::parse
