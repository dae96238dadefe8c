#include <utility>

#include "dsl/parse/grammar/rules.h"

// type = NAME [ "." NAME ] [ "[" dim { "," dim } "]" ] | "{" fields "}" | "(" type { "," type } ")".
namespace ltr::parse::grammar {

namespace {

using K = TokenKind;

struct DimId : Spanned {};
const Rule<DimId, ast::Dim> dim = "dim";
struct NamedTypeId {};
const Rule<NamedTypeId, ast::NamedType> named_type = "type";
struct AppliedTypeId {};
const Rule<AppliedTypeId, ast::AppliedType> applied_type = "type";
struct FieldTypeId {};
const Rule<FieldTypeId, ast::FieldType> field_type = "field";
struct TupleTypeId {};
const Rule<TupleTypeId, ast::TupleType> tuple_type = "tuple";
struct BlockTypeId {};
const Rule<BlockTypeId, ast::BlockType> block_type = "block signature";

const auto kind_is = [](ast::Dim::Kind kind) { return [kind](auto& c) { x3::_val(c).kind = kind; }; };
const auto to_dim = [](auto& c) {
  x3::_val(c).kind = ast::Dim::Kind::Expr;
  x3::_val(c).value = std::move(x3::_attr(c));
};

/// `list[`, `option[` and `stream[`: the names whose brackets hold a type.
struct AppliedAhead : x3::parser<AppliedAhead> {
  using attribute_type = x3::unused_type;
  static const bool has_attribute = false;
  template <class C, class RContext, class Attribute>
  bool parse(Iter& first, const Iter&, const C& context, RContext&&, Attribute&&) const {
    if (first->kind != K::Name || std::next(first)->kind != K::OpenBracket) return false;
    const std::string_view word = state_of(context).text(*first);
    return word == "list" || word == "option" || word == "stream";
  }
};

/// `| None` behind a type, which the lexer reported.
struct Union : x3::parser<Union> {
  using attribute_type = lex::Token;
  static const bool has_attribute = true;
  template <class C, class RContext>
  bool parse(Iter& first, const Iter&, const C& context, RContext&&, lex::Token& token) const {
    const std::string_view text = state_of(context).text(*first);
    if (first->kind != K::Or || text.size() < 3 || text[0] != '|') return false;
    token = *first++;
    return true;
  }
};
const auto to_union = [](auto& c) {
  const std::string_view text = state_of(c).text(x3::_attr(c));
  ast::TypeExpr held = std::move(x3::_val(c));
  x3::_val(c) = ast::TypeExpr{held.span, ast::ErrorType{}};
  if (text.ends_with("None") || text.ends_with("none"))
    x3::_val(c).node = ast::AppliedType{{"option", x3::_attr(c).span}, std::move(held)};
};

/// `?` behind a type.
struct Mark : x3::parser<Mark> {
  using attribute_type = lex::Token;
  static const bool has_attribute = true;
  template <class C, class RContext>
  bool parse(Iter& first, const Iter&, const C&, RContext&&, lex::Token& token) const {
    if (first->kind != K::Question) return false;
    token = *first++;
    return true;
  }
};

/// What is written in another language where a type with one in its brackets is meant.
void report_other_form(State& state, Span whole, std::string_view applied, Span argument) {
  const auto text = [&](Span span) { return std::string(state.text().substr(span.begin, span.end - span.begin)); };
  const std::string ours = std::string(applied) + "[" + text(argument) + "]";
  state.report(diag::python_form(whole, text(whole), "`" + ours + "`").fix(whole, ours));
}
/// `float?`
const auto to_option = [](auto& c) {
  ast::TypeExpr held = std::move(x3::_val(c));
  const auto* applied = held.get<ast::AppliedType>();
  const auto* named = held.get<ast::NamedType>();
  const Span mark = x3::_attr(c).span;
  const Span name = applied != nullptr ? applied->name.span : named != nullptr ? named->name.span : mark;
  held.span = {mark.source, name.begin, mark.begin};
  report_other_form(state_of(c), source::join(name, mark), "option", held.span);
  x3::_val(c).node = ast::AppliedType{{"option", mark}, std::move(held)};
};
/// `[str]`
const auto to_list = [](auto& c) {
  const Iter closer = x3::_where(c).begin();
  if (closer->kind != K::CloseBracket) return;
  State& state = state_of(c);
  const Span opener = opener_of_params(state, closer)->span;
  report_other_form(state, source::join(opener, closer->span), "list", x3::_attr(c).span);
  x3::_val(c).node = ast::AppliedType{{"list", opener}, std::move(x3::_attr(c))};
};

const auto dim_def = x3::omit[labelled(
    Expected::Dim, (skip_quietly(K::Question)[kind_is(ast::Dim::Kind::Unknown)]) |
                       (skip_quietly(K::Ellipsis)[kind_is(ast::Dim::Kind::Ellipsis)]) | expr[to_dim])];
const auto named_type_def = x3::omit[qualified[set<&ast::NamedType::name>] >>
                                     -(skip_quietly(K::OpenBracket)[raise<&ast::NamedType::has_dims>] >
                                       -separated(dim[push<&ast::NamedType::dims>]) > skip(K::CloseBracket))];
const auto applied_type_def = x3::omit[AppliedAhead() >> name[set<&ast::AppliedType::name>] > skip(K::OpenBracket) >
                                       type[set<&ast::AppliedType::argument>] > skip(K::CloseBracket)];

const auto join_name = [](auto& c) {
  ast::Name& whole = x3::_val(c);
  whole.text += "." + x3::_attr(c).text;
  whole.span = source::join(whole.span, x3::_attr(c).span);
};
const auto qualified_def =
    x3::omit[name[take] >> -((ahead(K::Dot, kWords) >> skip_quietly(K::Dot)) > any_word[join_name])];

const auto field_type_def =
    x3::omit[x3::eps > name[set<&ast::FieldType::name>] > skip(K::Colon) > type[set<&ast::FieldType::type>]];
const auto record_type_def =
    x3::omit[braced_fields(recovering(Level::Entry, (field_type > end_of_entry))[push<&ast::RecordType::fields>])];

const auto tuple_type_def =
    x3::omit[skip_quietly(K::OpenParen) > separated(type[push<&ast::TupleType::elements>]) > skip(K::CloseParen)];

const auto block_type_def = x3::omit[ahead(K::Block, KindSet{K::OpenBracket, K::OpenParen}) >> skip_quietly(K::Block) >
                                     -binders[set<&ast::BlockType::binders>] > skip(K::OpenParen) >
                                     -separated(type[push<&ast::BlockType::params>]) > skip(K::CloseParen) >
                                     skip(K::Arrow) > type[set<&ast::BlockType::result>]];

const auto signature_def = x3::omit[block_type[take_node]];
const auto list_of = skip_quietly(K::OpenBracket) >> type[to_list] >> skip_quietly(K::CloseBracket);
const auto type_def =
    x3::omit[labelled(Expected::Type, nested((applied_type[take_node] | named_type[take_node] | record_type[take_node] |
                                              tuple_type[take_node] | list_of) >>
                                             -(Union()[to_union] | Mark()[to_option])))];

BOOST_SPIRIT_DEFINE(dim, named_type, applied_type, field_type, tuple_type, block_type)

}  // namespace

BOOST_SPIRIT_DEFINE(qualified, type, signature, record_type)
LTR_INSTANTIATE(qualified)
LTR_INSTANTIATE(type)
LTR_INSTANTIATE(signature)
LTR_INSTANTIATE(record_type)

}  // namespace ltr::parse::grammar
