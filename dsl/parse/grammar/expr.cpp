#include <utility>

#include "dsl/parse/grammar/leaf.h"
#include "dsl/parse/grammar/operators.h"
#include "dsl/parse/grammar/rules.h"

// expr = lambda | if | scan | pipe, and what they are made of. See rules.h for how the rules are cut into files.
namespace ltr::parse::grammar {

namespace {

using K = TokenKind;

/// What stands between `(` and `)` or `[` and `]`, before it is known what it is.
struct Elements {
  std::vector<ast::Expr> list;
  bool has_comma = false;
  std::optional<ast::Name> variable;
  std::optional<ast::Expr> range;
};
struct Arguments {
  std::vector<ast::Argument> list;
  Span span;
};
/// `|> shuffle = true`
struct AssignedLink {
  ast::Name name;
  Span sign;
  ast::Expr value;
};
struct IndexItems {
  std::vector<ast::IndexItem> list;
  Span span;
};

template <class Id, class Node>
using Rule = grammar::Rule<Id, Node>;

struct PipeId : Spanned {};
const Rule<PipeId, ast::Expr> pipe = "pipe";
struct AssignedLinkId {};
const Rule<AssignedLinkId, AssignedLink> assigned_link = "assigned link";
struct UnaryId : Spanned {};
const Rule<UnaryId, ast::Expr> unary = "operand";
struct CastId : Spanned {};
const Rule<CastId, ast::Expr> cast = "value";
struct PostfixId : Spanned {};
const Rule<PostfixId, ast::Expr> postfix = "value";
struct PrimaryId : Spanned {};
const Rule<PrimaryId, ast::Expr> primary = "value";
struct ArgumentId {};
const Rule<ArgumentId, ast::Argument> argument = "argument";
struct ArgumentsId : Spanned {};
const Rule<ArgumentsId, Arguments> arguments = "arguments";
struct IndexItemId : Spanned {};
const Rule<IndexItemId, ast::IndexItem> index_item = "index";
struct IndexItemsId : Spanned {};
const Rule<IndexItemsId, IndexItems> index_items = "index";
struct ElementsId {};
const Rule<ElementsId, Elements> list_elements = "list";
struct ParenElementsId {};
const Rule<ParenElementsId, Elements> paren_elements = "tuple";
struct RecordFieldId {};
const Rule<RecordFieldId, ast::RecordField> record_field = "field";
struct RecordId {};
const Rule<RecordId, ast::Record> record = "record";
struct InterpolationId : Spanned {};
const Rule<InterpolationId, ast::StrPart> interpolation = "interpolation";
struct InterpolatedId {};
const Rule<InterpolatedId, ast::StrLiteral> interpolated = "string";
struct LambdaId {};
const Rule<LambdaId, ast::Lambda> lambda = "lambda";
struct IfExprId {};
const Rule<IfExprId, ast::IfExpr> if_expr = "if";
struct ScanCarryId {};
const Rule<ScanCarryId, ast::ScanCarry> scan_carry = "carried value";
struct ScanId {};
const Rule<ScanId, ast::Scan> scan = "scan";

// ---- actions ----------------------------------------------------------------------------------------------------

const auto to_negative = [](auto& c) { x3::_val(c).node = ast::Unary{ast::UnaryOp::Negate, std::move(x3::_attr(c))}; };
const auto to_power = [](auto& c) {
  ast::Expr left = std::move(x3::_val(c));
  ast::Expr right = std::move(boost::fusion::at_c<1>(x3::_attr(c)));
  const Span span = source::join(left.span, right.span);
  const Span op_span = boost::fusion::at_c<0>(x3::_attr(c)).span;
  x3::_val(c) = ast::Expr{span, ast::Binary{ast::BinaryOp::Power, op_span, std::move(left), std::move(right)}};
};
const auto to_cast = [](auto& c) {
  grow(state_of(c), x3::_where(c).begin());
  const Span span = source::join(x3::_val(c).span, x3::_attr(c).span);
  x3::_val(c) = ast::Expr{span, ast::As{std::move(x3::_val(c)), std::move(x3::_attr(c))}};
};
const auto to_pipe = [](auto& c) {
  grow(state_of(c), x3::_where(c).begin());
  const Span span = source::join(x3::_val(c).span, x3::_attr(c).span);
  x3::_val(c) = ast::Expr{span, ast::Pipe{std::move(x3::_val(c)), std::move(x3::_attr(c))}};
};
const auto sign_of_link = [](auto& c) { x3::_val(c).sign = x3::_attr(c).span; };
const auto to_error_link = [](auto& c) {
  State& state = state_of(c);
  const AssignedLink& link = x3::_attr(c);
  const Span span = source::join(link.name.span, link.value.span);
  const auto written = state.text().substr(link.value.span.begin, link.value.span.end - link.value.span.begin);
  const bool is_flag = written == "true" || written == "false";
  const std::string call = link.name.text + "(" + (is_flag ? "…" : std::string(written)) + ")";
  diagnostics::Diagnostic diagnostic = diag::unexpected_token(link.sign, lex::describe(K::OpenParen), "`=`");
  diagnostic.help("what `{}` is given stands in brackets: `{}`", link.name.text, call);
  if (!is_flag) diagnostic.fix(span, call);
  state.report_at(x3::_where(c).begin(), std::move(diagnostic));
  const Span whole = source::join(x3::_val(c).span, span);
  x3::_val(c) = ast::Expr{whole, ast::Pipe{std::move(x3::_val(c)), ast::Expr{span, ast::ErrorExpr{}}}};
};
const auto to_call = [](auto& c) {
  grow(state_of(c), x3::_where(c).begin());
  Arguments& attr = x3::_attr(c);
  const Span span = source::join(x3::_val(c).span, attr.span);
  x3::_val(c) = ast::Expr{span, ast::Call{std::move(x3::_val(c)), std::move(attr.list), attr.span}};
};
const auto to_index = [](auto& c) {
  grow(state_of(c), x3::_where(c).begin());
  IndexItems& attr = x3::_attr(c);
  const Span span = source::join(x3::_val(c).span, attr.span);
  x3::_val(c) = ast::Expr{span, ast::Index{std::move(x3::_val(c)), std::move(attr.list)}};
};
const auto to_field = [](auto& c) {
  grow(state_of(c), x3::_where(c).begin());
  const Span span = source::join(x3::_val(c).span, x3::_attr(c).span);
  x3::_val(c) = ast::Expr{span, ast::Field{std::move(x3::_val(c)), std::move(x3::_attr(c))}};
};
const auto to_paren = [](auto& c) {
  Elements& attr = x3::_attr(c);
  if (attr.list.size() == 1 && !attr.has_comma) {
    x3::_val(c).node = ast::Paren{std::move(attr.list.front())};
  } else {
    x3::_val(c).node = ast::Tuple{std::move(attr.list)};
  }
};
const auto to_list = [](auto& c) {
  Elements& attr = x3::_attr(c);
  if (attr.variable && attr.range) {
    x3::_val(c).node =
        ast::Comprehension{std::move(attr.list.front()), std::move(*attr.variable), std::move(*attr.range)};
  } else {
    x3::_val(c).node = ast::List{std::move(attr.list)};
  }
};
const auto kind_is = [](ast::IndexItem::Kind kind) { return [kind](auto& c) { x3::_val(c).kind = kind; }; };
const auto to_index_expr = [](auto& c) {
  ast::IndexItem& item = x3::_val(c);
  ast::Expr& attr = x3::_attr(c);
  item.kind = ast::IndexItem::Kind::Expr;
  if (auto* range = std::get_if<ast::Binary>(&attr.node); range != nullptr && range->op == ast::BinaryOp::Range) {
    item.kind = ast::IndexItem::Kind::Range;
    item.first = std::move(range->left);
    item.second = std::move(range->right);
  } else {
    item.first = std::move(attr);
  }
};
const auto to_range_end = [](auto& c) { x3::_val(c).second = std::move(x3::_attr(c)); };
/// `x[1:3]`
const auto report_slice = [](auto& c) {
  const Span span = x3::_attr(c).span;
  state_of(c).report_at(
      x3::_where(c).begin(),
      diag::python_form(span, ":", "` .. `").help("`x[a .. b]` holds `a` and not `b`").fix(span, " .. "));
};
const auto str_text = [](auto& c) {
  const lex::Token& token = x3::_attr(c);
  x3::_val(c).parts.push_back({state_of(c).buffer().strings[token.value], {}, {}, token.span});
};
const auto format_text = [](auto& c) { x3::_val(c).format = state_of(c).buffer().strings[x3::_attr(c).value]; };
/// `x[a:b:c]`: a slice has no step. The whole item is given up.
struct Stride : x3::parser<Stride> {
  using attribute_type = x3::unused_type;
  static const bool has_attribute = false;
  template <class C, class RContext, class Attribute>
  bool parse(Iter& first, const Iter&, const C& context, RContext&&, Attribute&&) const {
    State& state = state_of(context);
    int depth = 0, colons = 0;
    Iter end = first;
    for (; end->kind != K::End && !(depth == 0 && (end->kind == K::Comma || end->kind == K::CloseBracket)); ++end) {
      if (end->kind == K::OpenParen || end->kind == K::OpenBracket || end->kind == K::OpenBrace) ++depth;
      if (end->kind == K::CloseParen || end->kind == K::CloseBracket || end->kind == K::CloseBrace) --depth;
      if (depth < 0) return false;
      if (depth == 0 && end->kind == K::Colon) ++colons;
    }
    if (colons < 2) return false;
    const Span span = state.span(first, end);
    const bool is_reversed = std::prev(end)->kind == K::Int && std::prev(end, 2)->kind == K::Minus;
    state.report_at(first, diag::python_form(
                               span, state.text().substr(span.begin, span.end - span.begin),
                               is_reversed ? "`x.flip(0)`, with the dim" : "`x[arange(n) * 2]`: a slice has no step"));
    first = end;
    return true;
  }
};
/// The `None` of `x[:, None]`, which adds an axis.
struct NoneAxis : x3::parser<NoneAxis> {
  using attribute_type = x3::unused_type;
  static const bool has_attribute = false;
  template <class C, class RContext, class Attribute>
  bool parse(Iter& first, const Iter&, const C& context, RContext&&, Attribute&&) const {
    State& state = state_of(context);
    const TokenKind next = std::next(first)->kind;
    if (first->kind != K::Name || state.text(*first) != "None" || (next != K::Comma && next != K::CloseBracket))
      return false;
    state.report_at(first, diag::python_form(first->span, "None", "`new`").fix(first->span, "new"));
    ++first;
    return true;
  }
};
/// `lambda x: …`, or `x -> …`
struct ForeignLambda : x3::parser<ForeignLambda> {
  using attribute_type = ast::Name;
  static const bool has_attribute = true;
  template <class C, class RContext>
  bool parse(Iter& first, const Iter&, const C& context, RContext&&, ast::Name& parameter) const {
    State& state = state_of(context);
    if (!kNames.has(first->kind)) return false;
    const Iter second = std::next(first);
    if (second->kind == K::Arrow) {
      parameter = state.name(*first);
      state.report_at(second, diag::foreign_operator(second->span, "->", "=>").fix(second->span, "=>"));
      first += 2;
      return true;
    }
    if (first->kind != K::Name || state.text(*first) != "lambda") return false;
    if (!kNames.has(second->kind) || std::next(second)->kind != K::Colon) return false;
    parameter = state.name(*second);
    const Span span = state.span(first, first + 3);
    state.report_at(first, diag::python_form(span, "lambda " + parameter.text + ":", "`" + parameter.text + " =>`")
                               .fix(span, parameter.text + " =>"));
    first += 3;
    return true;
  }
};

// ---- values -----------------------------------------------------------------------------------------------------

const auto interpolation_def = x3::omit[skip(K::InterpBegin) > expr[set<&ast::StrPart::value>] >
                                        -quiet(K::InterpFormat)[format_text] > skip(K::InterpEnd)];
const auto interpolated_def =
    x3::omit[skip_quietly(K::StrBegin) >
             *(quiet(K::StrText)[str_text] | (ahead(K::InterpBegin) >> interpolation[push<&ast::StrLiteral::parts>])) >
             skip(K::StrEnd)];

const auto record_field_def =
    x3::omit[name[set<&ast::RecordField::name>] > skip(K::Assign) > expr[set<&ast::RecordField::value>]];
const auto record_def = x3::omit[ahead(K::OpenParen, kNames, K::Assign) >> skip(K::OpenParen) >
                                 separated(record_field[push<&ast::Record::fields>]) > skip(K::CloseParen)];
const auto paren_elements_def =
    x3::omit[skip_quietly(K::OpenParen) > expr[push<&Elements::list>] >
             *(skip(K::Comma)[raise<&Elements::has_comma>] >> expr[push<&Elements::list>]) >>
             -skip(K::Comma)[raise<&Elements::has_comma>] > skip(K::CloseParen)];
const auto list_elements_def =
    x3::omit[skip_quietly(K::OpenBracket) >
             -(expr[push<&Elements::list>] >>
               ((skip(K::For) > name[set<&Elements::variable>] > skip(K::In) > expr[set<&Elements::range>]) |
                (*(skip(K::Comma) >> expr[push<&Elements::list>]) >> -skip(K::Comma)))) > skip(K::CloseBracket)];

const auto primary_def = x3::omit[leaf[take] | record[take_node] | paren_elements[to_paren] | list_elements[to_list] |
                                  interpolated[take_node]];

const auto argument_def = x3::omit[-(ahead(kNames, K::Assign) >> name[set<&ast::Argument::name>] > skip(K::Assign)) >>
                                   expr[set<&ast::Argument::value>]];
const auto arguments_def =
    x3::omit[skip_quietly(K::OpenParen) > -separated(argument[push<&Arguments::list>]) > skip(K::CloseParen)];

const auto index_item_def = x3::omit[labelled(
    Expected::Expression,
    (skip_quietly(K::Ellipsis)[kind_is(ast::IndexItem::Kind::Ellipsis)]) |
        Stride()[kind_is(ast::IndexItem::Kind::Error)] | NoneAxis()[kind_is(ast::IndexItem::Kind::New)] |
        (ahead(K::New, KindSet{K::Comma, K::CloseBracket}) >>
         skip_quietly(K::New)[kind_is(ast::IndexItem::Kind::New)]) |
        (ahead(K::Colon, KindSet{K::Comma, K::CloseBracket}) >>
         skip_quietly(K::Colon)[kind_is(ast::IndexItem::Kind::Range)]) |
        (quiet(K::Colon)[report_slice][kind_is(ast::IndexItem::Kind::Error)] >> expr[to_range_end]) |
        (skip_quietly(K::Range)[kind_is(ast::IndexItem::Kind::Range)] >> -expr[to_range_end]) |
        (expr[to_index_expr] >>
         -((skip_quietly(K::Range)[kind_is(ast::IndexItem::Kind::Range)]) |
           (quiet(K::Colon)[report_slice][kind_is(ast::IndexItem::Kind::Error)] >> -expr[to_range_end]))))];
const auto index_items_def =
    x3::omit[skip_quietly(K::OpenBracket) > separated(index_item[push<&IndexItems::list>]) > skip(K::CloseBracket)];

const auto postfix_def = x3::omit[primary[take] >> *(arguments[to_call] | index_items[to_index] |
                                                     ((skip_quietly(K::Dot) > any_word)[to_field]))];

// ---- operators --------------------------------------------------------------------------------------------------

const auto cast_def = x3::omit[postfix[take] >> *((skip_quietly(K::As) > type)[to_cast])];
const auto unary_def =
    x3::omit[labelled(Expected::Expression, nested((skip_quietly(K::Minus) > unary[to_negative]) |
                                                   (cast[take] >> -((quiet(K::Power) > unary)[to_power]))))];
const auto assigned_link_def =
    x3::omit[(ahead(K::Pipe, kNames, K::Assign) >> skip_quietly(K::Pipe)) > name[set<&AssignedLink::name>] >
             quiet(K::Assign)[sign_of_link] > operators(unary)[set<&AssignedLink::value>]];
const auto pipe_def =
    x3::omit[operators(unary)[take] >> *(assigned_link[to_error_link] |
                                         (skip_quietly(K::Pipe) > labelled(Expected::Expression, postfix))[to_pipe])];

// ---- expressions ------------------------------------------------------------------------------------------------

const auto lambda_def = x3::omit[(ahead(kNames, K::FatArrow) >> name[set<&ast::Lambda::param>] > skip(K::FatArrow) >
                                  expr[set<&ast::Lambda::value>]) |
                                 (ForeignLambda()[set<&ast::Lambda::param>] > expr[set<&ast::Lambda::value>])];
const auto if_expr_def =
    x3::omit[skip_quietly(K::If) > expr[set<&ast::IfExpr::condition>] > skip(K::Then) >
             expr[set<&ast::IfExpr::then_value>] > skip(K::Else) > expr[set<&ast::IfExpr::else_value>]];
const auto scan_carry_def =
    x3::omit[name[set<&ast::ScanCarry::name>] > skip(K::Assign) > expr[set<&ast::ScanCarry::initial>]];
const auto scan_def =
    x3::omit[ahead(K::Scan, kNames) >> skip_quietly(K::Scan) > name[set<&ast::Scan::element>] > skip(K::Over) >
             expr[set<&ast::Scan::sequence>] > skip(K::Dim) > expr[set<&ast::Scan::dim>] > skip(K::With) >
             scan_carry[push<&ast::Scan::carried>] > *(skip_quietly(K::Comma) > scan_carry[push<&ast::Scan::carried>]) >
             body[set<&ast::Scan::body>]];

const auto expr_def = x3::omit[nested(lambda[take_node] | if_expr[take_node] | scan[take_node] | pipe[take])];

BOOST_SPIRIT_DEFINE(interpolation, interpolated, record_field, record, paren_elements, list_elements, primary)
BOOST_SPIRIT_DEFINE(argument, arguments, index_item, index_items, postfix, cast, unary, assigned_link, pipe)
BOOST_SPIRIT_DEFINE(lambda, if_expr, scan_carry, scan)

}  // namespace

BOOST_SPIRIT_DEFINE(expr)
LTR_INSTANTIATE(expr)

}  // namespace ltr::parse::grammar
