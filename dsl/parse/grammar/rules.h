#pragma once

#include "dsl/parse/actions.h"

/// Every rule that more than one file of the grammar uses. Each is defined and instantiated in the file named
/// after its construct, so that no file compiles more than its own part.
namespace ltr::parse::grammar {

/// How values of several steps become one: of a log, of a metric\'s state.
inline constexpr KindSet kReductions = {TokenKind::Sum, TokenKind::Mean, TokenKind::Min, TokenKind::Max,
                                        TokenKind::Cat};

/// `true`: without it X3 calls no `on_success` for a rule whose body has actions. Such a body is in `omit`.
template <class Id, class Node>
using Rule = x3::rule<Id, Node, true>;

/// Gives a node the span of its tokens.
struct Spanned {
  template <class Node, class C>
  void on_success(const Iter& first, const Iter& last, Node& node, const C& context) {
    node.span = state_of(context).span(first, last);
  }
};
/// Also its `##` lines.
struct Documented {
  template <class Node, class C>
  void on_success(const Iter& first, const Iter& last, Node& node, const C& context) {
    State& state = state_of(context);
    node.span = state.span(first, last);
    if (const std::string* doc = state.buffer().find_doc(node.span.begin)) node.doc = *doc;
  }
};

// expr.cpp
struct ExprId : Spanned {};
inline const Rule<ExprId, ast::Expr> expr = "expression";

// type.cpp
struct QualifiedId {};
/// A name of this file, or `b.Row` of the one that is imported as `b`.
inline const Rule<QualifiedId, ast::Name> qualified = "name";
struct TypeId : Spanned {};
inline const Rule<TypeId, ast::TypeExpr> type = "type";
struct SignatureId : Spanned {};
inline const Rule<SignatureId, ast::TypeExpr> signature = "block signature";
struct FieldsId {};
inline const Rule<FieldsId, ast::RecordType> record_type = "fields";

// stmt.cpp
struct BodyId {};
inline const Rule<BodyId, ast::Body> body = "body";

// fn.cpp
struct BindersId {};
inline const Rule<BindersId, std::vector<ast::Name>> binders = "binders";
struct ParamsId {};
/// Parameters with their brackets; used through `params`.
struct Params {
  std::vector<ast::Param> list;
  Span span;
};
inline const Rule<ParamsId, Params> params = "parameters";
struct FnId {};
inline const Rule<FnId, ast::Fn> fn = "fn";
struct FnTailId {};
/// A function from behind its name: what `fn` and `step` share.
inline const Rule<FnTailId, ast::Fn> fn_tail = "function";
struct HparamId {};
inline const Rule<HparamId, ast::Hparam> hparam = "hparam";
struct TypeNameId {};
inline const Rule<TypeNameId, ast::TypeName> type_name = "type";
struct ConstId {};
inline const Rule<ConstId, ast::Const> constant = "const";
struct LetId {};
inline const Rule<LetId, ast::Let> let = "let";
struct ExternId {};
inline const Rule<ExternId, ast::Extern> extern_fns = "extern";
struct ImportId {};
inline const Rule<ImportId, ast::Import> import = "import";

// data.cpp
struct DataId {};
inline const Rule<DataId, ast::Data> data = "data";
struct MetricId {};
inline const Rule<MetricId, ast::Metric> metric = "metric";

// block.cpp
struct BlockId {};
inline const Rule<BlockId, ast::Block> block = "block";
struct MemberId {};
inline const Rule<MemberId, ast::Member> member = "member";
struct ParameterId {};
inline const Rule<ParameterId, ast::Parameter> parameter = "weight";

// model.cpp
struct ModelId {};
inline const Rule<ModelId, ast::Model> model = "model";

// callback.cpp
struct CallbackId {};
inline const Rule<CallbackId, ast::Callback> callback = "callback";
struct StateId {};
inline const Rule<StateId, ast::State> state_member = "state";

// topology.cpp
struct TopologyId {};
inline const Rule<TopologyId, ast::Topology> topology = "topology";
struct SettingId : Spanned {};
inline const Rule<SettingId, ast::Setting> setting = "setting";

// experiment.cpp
struct ExperimentId {};
inline const Rule<ExperimentId, ast::Experiment> experiment = "experiment";

// test.cpp
struct TestId {};
inline const Rule<TestId, ast::Test> test = "test";
struct DeclId : Documented {};
inline const Rule<DeclId, ast::Decl> declaration = "declaration";

BOOST_SPIRIT_DECLARE(decltype(expr), decltype(qualified), decltype(type), decltype(signature), decltype(record_type),
                     decltype(body), decltype(binders), decltype(params), decltype(fn), decltype(fn_tail),
                     decltype(hparam), decltype(type_name), decltype(constant), decltype(let), decltype(extern_fns),
                     decltype(import), decltype(data), decltype(metric), decltype(block), decltype(member),
                     decltype(parameter), decltype(model), decltype(callback), decltype(state_member),
                     decltype(topology), decltype(setting), decltype(experiment), decltype(test), decltype(declaration))

/// A word is a name, and does not begin what it begins elsewhere, where one of these follows.
inline constexpr KindSet kAfterName = {TokenKind::Assign,     TokenKind::PlusAssign,  TokenKind::MinusAssign,
                                       TokenKind::StarAssign, TokenKind::SlashAssign, TokenKind::Colon,
                                       TokenKind::Dot,        TokenKind::Comma,       TokenKind::Pipe};
/// The word that begins a statement, a member or a declaration. What follows it is then no choice any more.
inline auto keyword(TokenKind kind) { return ahead(kind) >> !ahead(kind, kAfterName) >> skip_quietly(kind); }

/// The right side of `=`: a mistake in it costs the value and no more.
inline const auto value = recovering(Level::Value, expr);

/// A result without its `->`, in front of a body: `fn row(s: {i: int}) {x: float} = …`. Reports it, and the type is read.
struct MissingArrow : x3::parser<MissingArrow> {
  using attribute_type = x3::unused_type;
  static const bool has_attribute = false;
  template <class C, class RContext, class Attribute>
  bool parse(Iter& first, const Iter&, const C& context, RContext&&, Attribute&&) const {
    State& state = state_of(context);
    using K = TokenKind;
    constexpr KindSet kBegins = {K::OpenBrace, K::Assign};
    if (first->kind == K::Where || first->kind == K::Manual) return false;
    Iter behind = first;
    if (kNames.has(behind->kind) && !behind->starts_line) ++behind;
    const bool is_name = behind != first;
    if (behind->kind == K::OpenBracket || (!is_name && behind->kind == K::OpenBrace)) {
      const lex::BracketPair* pair = state.buffer().find_bracket(state.index(behind));
      if (!pair->is_closed) return false;
      behind = state.begin() + pair->closer + 1;
    }
    // A body stands behind a type, and no type behind a body.
    if (behind == first || behind->starts_line || !kBegins.has(behind->kind)) return false;
    state.report_at(first, diag::unexpected_token(first->span, "`->`", describe_found(state, first))
                               .help("the type of the result stands behind `->`")
                               .fix({first->span.source, first->span.begin, first->span.begin}, "-> "));
    return true;
  }
};
inline const MissingArrow missing_arrow{};

/// Reports a declaration that stands where it cannot: `step` in a block. `place` is "a block".
struct Misplaced : x3::parser<Misplaced> {
  using attribute_type = x3::unused_type;
  static const bool has_attribute = false;
  const char* place;

  explicit Misplaced(const char* where) : place(where) {}
  template <class C, class RContext, class Attribute>
  bool parse(Iter& first, const Iter&, const C& context, RContext&&, Attribute&&) const {
    if (report_misplaced(state_of(context), first, place)) fail_reported(first);
    return false;
  }
  static bool report_misplaced(State& state, Iter at, const char* place);
};
inline Misplaced misplaced(const char* place) { return Misplaced{place}; }

}  // namespace ltr::parse::grammar

/// Compiles a rule for the one iterator and context that the parser uses.
#define LTR_INSTANTIATE(rule) BOOST_SPIRIT_INSTANTIATE(decltype(rule), ::ltr::parse::Iter, ::ltr::parse::Context)
