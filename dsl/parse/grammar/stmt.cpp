#include <utility>

#include "dsl/parse/grammar/rules.h"

// body = "{" { stmt } "}", and every statement.
namespace ltr::parse::grammar {

namespace {

using K = TokenKind;

struct StmtId : Spanned {};
const Rule<StmtId, ast::Stmt> stmt = "statement";
struct UnpackId {};
const Rule<UnpackId, ast::Unpack> unpack = "assignment";
struct DeclareId {};
const Rule<DeclareId, ast::Declare> declare = "declaration";
struct SimpleId {};
const Rule<SimpleId, ast::Stmt> simple = "statement";
struct ReturnId {};
const Rule<ReturnId, ast::Return> return_stmt = "return";
struct YieldId {};
const Rule<YieldId, ast::Yield> yield_stmt = "yield";
struct AssertId {};
const Rule<AssertId, ast::Assert> assert_stmt = "assert";
struct PrintId {};
const Rule<PrintId, ast::Print> print_stmt = "print";
struct MinimizeId {};
const Rule<MinimizeId, ast::Minimize> minimize_stmt = "minimize";
struct BackwardId {};
const Rule<BackwardId, ast::Backward> backward_stmt = "backward";
struct LogId {};
const Rule<LogId, ast::Log> log_stmt = "log";
struct IfTailId {};
const Rule<IfTailId, ast::If> if_tail = "if";
struct ElseIfId : Spanned {};
const Rule<ElseIfId, ast::Stmt> else_if = "else if";
struct ElifId : Spanned {};
const Rule<ElifId, ast::Stmt> elif = "else if";
struct ForId {};
const Rule<ForId, ast::For> for_stmt = "for";
struct WhileId {};
const Rule<WhileId, ast::While> while_stmt = "while";
struct EveryId {};
const Rule<EveryId, ast::Every> every_stmt = "every";
struct NoGradId {};
const Rule<NoGradId, ast::NoGrad> no_grad_stmt = "no_grad";
struct ConditionId {};
const Rule<ConditionId, ast::Expr> condition = "condition";

constexpr KindSet kAssignOps = {K::Assign, K::PlusAssign, K::MinusAssign, K::StarAssign, K::SlashAssign};
constexpr KindSet kLogFlags = {K::On, K::Bar, K::Reduce};

// ---- actions ----------------------------------------------------------------------------------------------------

ast::AssignOp assign_op(TokenKind kind) {
  if (kind == K::PlusAssign) return ast::AssignOp::Add;
  if (kind == K::MinusAssign) return ast::AssignOp::Subtract;
  if (kind == K::StarAssign) return ast::AssignOp::Multiply;
  if (kind == K::SlashAssign) return ast::AssignOp::Divide;
  return ast::AssignOp::Set;
}

bool is_assignable(const ast::Expr& target) {
  const ast::Expr* at = &target;
  for (;;) {
    if (const auto* field = at->get<ast::Field>()) {
      at = &*field->base;
    } else if (const auto* index = at->get<ast::Index>()) {
      at = &*index->base;
    } else {
      return at->get<ast::NameRef>() != nullptr || at->is_error();
    }
  }
}

/// `a` and `b` of `(a, b)` and `[a, b]`; empty if it is anything else.
std::vector<ast::Name> names_of(const ast::Expr& target) {
  std::vector<ast::Name> names;
  const auto* tuple = target.get<ast::Tuple>();
  const auto* list = target.get<ast::List>();
  if (tuple == nullptr && list == nullptr) return names;
  for (const ast::Expr& element : tuple != nullptr ? tuple->elements : list->elements) {
    const auto* ref = element.get<ast::NameRef>();
    if (ref == nullptr) return {};
    names.push_back(ref->name);
  }
  return names;
}

std::string_view describe_target(const ast::Expr& target) {
  if (target.get<ast::Call>() != nullptr) return "the result of a call";
  if (target.get<ast::Tuple>() != nullptr || target.get<ast::List>() != nullptr) return "a tuple";
  if (target.get<ast::Binary>() != nullptr || target.get<ast::Unary>() != nullptr) return "the result of an operator";
  return "this value";
}

const auto to_expr_stmt = [](auto& c) { x3::_val(c).node = ast::ExprStmt{std::move(x3::_attr(c))}; };
/// `pass` and its like are names to the grammar.
const auto check_word = [](auto& c) {
  const auto* value_stmt = x3::_val(c).template get<ast::ExprStmt>();
  const auto* ref = value_stmt != nullptr ? value_stmt->value.template get<ast::NameRef>() : nullptr;
  if (ref == nullptr) return;
  auto habit = find_python_word(ref->name);
  if (!habit) return;
  state_of(c).report_at(x3::_where(c).begin(), std::move(*habit));
  x3::_val(c).node = ast::ErrorStmt{};
};
const auto to_assign = [](auto& c) {
  const lex::Token op = x3::_attr(c);
  ast::Expr target = std::move(std::get<ast::ExprStmt>(x3::_val(c).node).value);
  if (!is_assignable(target)) {
    diagnostics::Diagnostic diagnostic = diag::not_assignable(target.span, describe_target(target));
    if (target.template get<ast::Tuple>() != nullptr || target.template get<ast::List>() != nullptr)
      diagnostic.help("without brackets: `a, b = …`");
    state_of(c).report_at(x3::_where(c).begin(), std::move(diagnostic));
    if (std::vector<ast::Name> names = names_of(target); !names.empty()) {
      x3::_val(c).node = ast::Unpack{std::move(names), {}};
      return;
    }
    target = ast::Expr{target.span, ast::ErrorExpr{}};
  }
  x3::_val(c).node = ast::Assign{std::move(target), assign_op(op.kind), op.span, {}};
};
const auto to_assigned = [](auto& c) {
  ast::Expr& value = x3::_attr(c);
  if (auto* unpack = std::get_if<ast::Unpack>(&x3::_val(c).node)) {
    unpack->value = std::move(value);
  } else {
    std::get<ast::Assign>(x3::_val(c).node).value = std::move(value);
  }
};
const auto no_grad_body = [](auto& c) { x3::_val(c).body = std::move(x3::_attr(c)); };
const auto push_else = [](auto& c) { x3::_val(c).else_body.push_back(std::move(x3::_attr(c))); };

const auto log_kind = [](auto& c) {
  const TokenKind kind = x3::_attr(c).kind;
  x3::_val(c).kind = kind == K::Image       ? ast::LogKind::Image
                     : kind == K::Histogram ? ast::LogKind::Histogram
                                            : ast::LogKind::Text;
};
// What a log says behind its value, it says once: the first of them holds.
const auto log_when = [](auto& c) {
  const lex::Token& token = x3::_attr(c);
  ast::Log& log = x3::_val(c);
  if (log.when != ast::LogWhen::Default) return log.repeated.push_back({"on", token.span});
  log.when = token.kind == K::Step    ? ast::LogWhen::Step
             : token.kind == K::Epoch ? ast::LogWhen::Epoch
                                      : ast::LogWhen::Both;
  log.when_span = token.span;
};
const auto log_bar = [](auto& c) {
  if (std::exchange(x3::_val(c).bar, true)) x3::_val(c).repeated.push_back({"bar", x3::_attr(c).span});
};
const auto log_reduce = [](auto& c) {
  if (x3::_val(c).reduce) x3::_val(c).repeated.push_back({"reduce", x3::_attr(c).span});
};

/// `if a = b {`
const auto report_assignment = [](auto& c) {
  const Span span = x3::_attr(c).span;
  state_of(c).report_at(x3::_where(c).begin(), diag::assignment_in_condition(span).fix(span, "=="));
};
const auto compare_with = [](auto& c) {
  ast::Expr left = std::move(x3::_val(c));
  ast::Expr right = std::move(x3::_attr(c));
  const Span span = source::join(left.span, right.span);
  x3::_val(c) = ast::Expr{span, ast::Binary{ast::BinaryOp::Equal, span, std::move(left), std::move(right)}};
};

/// `elif`, taken as `else if`.
struct Elif : x3::parser<Elif> {
  using attribute_type = x3::unused_type;
  static const bool has_attribute = false;
  template <class C, class RContext, class Attribute>
  bool parse(Iter& first, const Iter&, const C& context, RContext&&, Attribute&&) const {
    State& state = state_of(context);
    const Iter word = first->kind == K::Newline ? std::next(first) : first;
    if (word->kind != K::Name || state.text(*word) != "elif" || word >= state.limit_) return false;
    state.report_at(word, diag::python_form(word->span, "elif", "`else if`").fix(word->span, "else if"));
    first = std::next(word);
    return true;
  }
};

/// `no_grad` in front of its body; also with the colon of Python, unless a local of that name has a record type.
struct NoGradWord : x3::parser<NoGradWord> {
  using attribute_type = x3::unused_type;
  static const bool has_attribute = false;
  template <class C, class RContext, class Attribute>
  bool parse(Iter& first, const Iter&, const C& context, RContext&&, Attribute&&) const {
    const State& state = state_of(context);
    if (first->kind != K::NoGrad) return false;
    const Iter behind = std::next(first);
    if (find_indented_end(state, behind) != behind) {
      ++first;
      return true;
    }
    const bool has_colon = behind->kind == K::Colon;
    const Iter brace = has_colon ? behind + 1 : behind;
    if (brace->kind != K::OpenBrace) return false;
    const Iter closer = state.begin() + state.buffer().find_bracket(state.index(brace))->closer;
    if (has_colon && closer->kind != K::End && std::next(closer)->kind == K::Assign) return false;
    ++first;
    return true;
  }
};

// ---- statements -------------------------------------------------------------------------------------------------

const auto condition_def = x3::omit[expr[take] >> -(quiet(K::Assign)[report_assignment] > expr[compare_with])];
const auto header = recovering(Level::Condition, condition);

const auto unpack_def =
    x3::omit[ahead(kNames, K::Comma, kNames) >> name[push<&ast::Unpack::names>] >
             +(skip(K::Comma) > name[push<&ast::Unpack::names>]) > skip(K::Assign) > value[set<&ast::Unpack::value>]];
const auto declare_def =
    x3::omit[ahead(kNames, K::Colon) >> !ahead(kNames, K::Colon, K::Newline) >> name[set<&ast::Declare::name>] >
             skip(K::Colon) > type[set<&ast::Declare::type>] > skip(K::Assign) > value[set<&ast::Declare::value>]];
const auto simple_def =
    x3::omit[expr[to_expr_stmt] >> -(quiet(kAssignOps)[to_assign] > value[to_assigned]) >> x3::eps[check_word]];

const auto return_stmt_def = x3::omit[keyword(K::Return) >> -value[set<&ast::Return::value>]];
const auto yield_stmt_def = x3::omit[keyword(K::Yield) > value[set<&ast::Yield::value>]];
const auto assert_stmt_def = x3::omit[keyword(K::Assert) > condition[set<&ast::Assert::condition>] >
                                      -(skip_quietly(K::Comma) > expr[set<&ast::Assert::message>])];
const auto print_stmt_def = x3::omit[keyword(K::Print) > expr[push<&ast::Print::values>] >
                                     *(skip_quietly(K::Comma) > expr[push<&ast::Print::values>])];
const auto minimize_stmt_def = x3::omit[keyword(K::Minimize) > expr[set<&ast::Minimize::loss>] >
                                        -(skip_quietly(K::With) > expr[set<&ast::Minimize::optimizer>])];
const auto backward_stmt_def = x3::omit[keyword(K::Backward) > value[set<&ast::Backward::loss>]];

// `log image bar` logs `image` and shows it in the bar; `log image grid` logs `grid` as an image.
const auto log_kind_word = (ahead(KindSet{K::Image, K::Histogram, K::TextWord}, kNames) >>
                            ((!ahead(kNames, kLogFlags)) | ahead(kNames, kLogFlags, K::Assign))) >>
                           quiet(KindSet{K::Image, K::Histogram, K::TextWord})[log_kind];
const auto log_stmt_def =
    x3::omit[(ahead(K::Log, kNames | KindSet{K::Str, K::StrBegin}) >> skip_quietly(K::Log)) > -log_kind_word >
             name[set<&ast::Log::name>] > -(skip_quietly(K::Assign) > expr[set<&ast::Log::value>]) >
             *((skip(K::On) > token(KindSet{K::Step, K::Epoch, K::Both}, Expected::LogWhen)[log_when]) |
               token(K::Bar)[log_bar] |
               (token(K::Reduce)[log_reduce] >
                ((NameParser(K::Merge, Expected::LogReduction)[set<&ast::Log::reduce>] > name[set<&ast::Log::merge>]) |
                 NameParser(kReductions, Expected::LogReduction)[set<&ast::Log::reduce>])))];

const auto else_if_def = x3::omit[nested(skip(K::If) > if_tail[take_node])];
const auto elif_def = x3::omit[nested(Elif() > if_tail[take_node])];
const auto if_tail_def = x3::omit[x3::eps > header[set<&ast::If::condition>] > body[set<&ast::If::then_body>] >
                                  -((elif[push_else] >> x3::eps[raise<&ast::If::has_else>]) |
                                    (skip_quietly(K::Else)[raise<&ast::If::has_else>] >
                                     (else_if[push_else] | body[set<&ast::If::else_body>])))];
const auto for_stmt_def = x3::omit[keyword(K::For) > name[set<&ast::For::variable>] > skip(K::In) >
                                   header[set<&ast::For::range>] > body[set<&ast::For::body>]];
const auto while_stmt_def =
    x3::omit[keyword(K::While) > header[set<&ast::While::condition>] > body[set<&ast::While::body>]];
const auto every_stmt_def =
    x3::omit[keyword(K::Every) > header[set<&ast::Every::period>] > body[set<&ast::Every::body>]];
const auto no_grad_stmt_def = x3::omit[NoGradWord() > body[no_grad_body]];

const auto stmt_def = x3::omit[nested(labelled(
    Expected::Statement, no_grad_stmt[take_node] | unpack[take_node] | declare[take_node] | return_stmt[take_node] |
                             log_stmt[take_node] | ((ahead(K::If) >> skip_quietly(K::If)) > if_tail[take_node]) |
                             for_stmt[take_node] | minimize_stmt[take_node] | assert_stmt[take_node] |
                             print_stmt[take_node] | while_stmt[take_node] | every_stmt[take_node] |
                             yield_stmt[take_node] | backward_stmt[take_node] | simple[take]))];

const auto body_def =
    x3::omit[braced_statements(recovering(Level::Statement, x3::eps > stmt > end_of_entry)[push_back])];

BOOST_SPIRIT_DEFINE(condition, unpack, declare, simple, return_stmt, yield_stmt, assert_stmt, print_stmt)
BOOST_SPIRIT_DEFINE(minimize_stmt, backward_stmt, log_stmt, else_if, elif, if_tail, for_stmt, while_stmt, every_stmt)
BOOST_SPIRIT_DEFINE(no_grad_stmt, stmt)

}  // namespace

BOOST_SPIRIT_DEFINE(body)
LTR_INSTANTIATE(body)

}  // namespace ltr::parse::grammar
