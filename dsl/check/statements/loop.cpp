// `for` and `while`.

#include <algorithm>

#include "dsl/ast/assigned.h"
#include "dsl/ast/walk.h"
#include "dsl/check/expressions/rounds.h"
#include "dsl/check/statements/statements.h"

namespace ltr::check {

void forget_sizes(Type& type, Context& cx) {
  const auto has_size = [](const Type& one) {
    return one.kind == Kind::Int || (one.kind == Kind::List && one.uniform);
  };
  if (has_size(type)) type.value = cx.program.atoms.unknown();
  if (type.kind == Kind::List) type.arguments.clear();
  const bool has_parts =
      type.kind == Kind::List || type.kind == Kind::Tuple || type.kind == Kind::Record || type.kind == Kind::Option;
  for (TypeField& field : type.fields) {
    if (has_parts) forget_sizes(field.type, cx);
  }
}

namespace {

/// The body of a loop is read once, for all of its rounds: what they assign has no size that is known at its beginning.
void forget_assigned(const ast::Body& body, Scope& scope) {
  for (const std::string& name : ast::assigned_names(body)) {
    if (const auto local = scope.find_local(name)) forget_sizes(scope.local(*local).type, scope.cx);
  }
}

/// `for x in xs` is a loop over the places of the list.
Stmt check_for_list(const ast::Stmt& statement, const ast::For& loop, Expr list, Scope& scope) {
  Context& cx = scope.cx;
  std::optional<Type> element =
      list.type.fields.empty() ? std::optional<Type>(Type::host_int()) : std::optional<Type>(list.type.fields[0].type);
  for (const TypeField& field : list.type.fields) {
    if (element) element = merge(*element, field.type, cx);
  }
  if (!element) {
    cx.report(diag::wrong_type(list.span, "`for` runs over a list of one type, not over " + cx.text(list.type)));
    element = Type::error();
  }
  if (!list.type.uniform && !element->is_error()) {
    list = convert(std::move(list), Type::list_of(*element), scope, "the list");
  }
  const Type list_type = list.type;
  const LocalId kept = scope.hidden_local(list_type);
  const ExprId given = cx.keep(std::move(list));
  scope.local(kept).layers = given;
  scope.hoisted->push_back({statement.span, stmt::Let{kept, given}});
  const ExprId all = cx.keep(local_expr(kept, scope, loop.range.span));
  stmt::For result;
  const AtomId atom = cx.program.atoms.variable(loop.variable.text, cx.next_key++, false, false, true);
  result.variable = scope.hidden_local(Type::host_int(Polynomial::atom(atom)));
  result.from = cx.keep(int_const(0, statement.span));
  result.to = cx.keep({Type::host_int(list_type.value), statement.span, node::ListLength{all}});
  forget_assigned(loop.body, scope);
  scope.frames.emplace_back();
  ++scope.loop_depth;
  Type type = instantiate(*element, list_element_arguments(list_type, Polynomial::atom(atom)), cx);
  const ExprId at = cx.keep(local_expr(result.variable, scope, statement.span));
  const ExprId taken = cx.keep({type, loop.range.span, node::ListElement{all, at}});
  const LocalId variable = scope.declare(loop.variable.text, type);
  scope.local(variable).layers = taken;
  result.body = check_body(loop.body, scope);
  result.body.insert(result.body.begin(), {statement.span, stmt::Let{variable, taken}});
  --scope.loop_depth;
  scope.frames.pop_back();
  if (element->is_error()) return {statement.span, stmt::Error{}};
  return {statement.span, std::move(result)};
}

}  // namespace

namespace {

/// W0307: a loop that counts downwards, or ends in its first round.
void look_at_rounds(const node::Range& range, Span span, const Body& body, Scope& scope) {
  Context& cx = scope.cx;
  if (cx.graph.modules[scope.module].is_library) return;
  const auto &from = cx.at(range.from).type.value, &to = cx.at(range.to).type.value;
  const Polynomial length = from && to ? *to - *from : Polynomial(1);
  const bool is_empty =
      !length.terms().empty() && std::ranges::all_of(length.terms(), [](const auto& term) { return term.second < 0; });
  if (is_empty) {
    cx.report(diag::idle_loop(span, "this loop has no rounds: a range counts upwards")
                  .help("backwards: `for k in 0 .. n { i = n - 1 - k; … }`"));
  } else if (!body.empty() && body.back().is<stmt::Return>() && length.constant() != 1) {
    cx.report(diag::idle_loop(body.back().span, "this loop ends in its first round")
                  .help("what it gives stands behind its body, or in an `if`"));
  }
}

/// What a condition reads, and whether it may change by itself.
struct Asked {
  std::vector<std::string> names;
  bool may_change = false;

  void operator()(const auto& node) { ast::for_each_child(node, *this); }
  void operator()(const ast::Expr& expr) {
    if (const auto* ref = expr.get<ast::NameRef>()) names.push_back(ref->name.text);
    may_change = may_change || expr.get<ast::Call>() != nullptr || expr.get<ast::Pipe>() != nullptr;
    ast::for_each_child(expr, *this);
  }
};

/// W0307: a loop whose rounds know nothing of each other, and that keeps what the last one makes.
void look_at_kept(const ast::For& loop, Scope& scope) {
  Asked asked;
  std::map<std::string, Span> kept;
  for (const ast::Stmt& statement : loop.body) {
    const auto* assign = statement.get<ast::Assign>();
    const auto* target = assign != nullptr ? assign->target.get<ast::NameRef>() : nullptr;
    if (target == nullptr || assign->op != ast::AssignOp::Set) return;
    asked(assign->value);
    if (scope.find_local(target->name.text)) kept.emplace(target->name.text, statement.span);
  }
  if (std::ranges::any_of(asked.names, [&](const std::string& name) { return kept.contains(name); })) return;
  for (const auto& [name, span] : kept)
    scope.cx.report(diag::idle_loop(span, "each round gives `" + name + "` anew: the last one alone counts")
                        .help("`{} += …` adds them up, `{} = [… for i in …]` keeps them all", name, name));
}

/// W0307: a loop that never ends once it has begun.
void look_at_condition(const ast::While& loop, Scope& scope) {
  Asked asked;
  asked(loop.condition);
  const std::set<std::string> assigned = ast::assigned_names(loop.body);
  const auto is_given = [&](const std::string& name) {
    const bool is_param =
        scope.owner != nullptr &&
        std::ranges::any_of(scope.owner->params, [&](const ParamInfo& param) { return param.name == name; });
    return is_param || scope.find_local(name) || scope.cx.program.find_hparam(name) != nullptr;
  };
  const auto stays = [&](const std::string& name) { return is_given(name) && !assigned.contains(name); };
  Find<ast::Return> leaves;
  for (const ast::Stmt& statement : loop.body) leaves(statement);
  if (asked.may_change || leaves.found || !std::ranges::all_of(asked.names, stays)) return;
  scope.cx.report(diag::idle_loop(loop.condition.span, "nothing in this loop changes what its condition asks")
                      .note("once it has begun, it never ends"));
}

}  // namespace

Stmt check_for(const ast::Stmt& statement, const ast::For& loop, Scope& scope) {
  Expr range = check_expr(loop.range, scope);
  if (range.type.kind == Kind::List) return check_for_list(statement, loop, std::move(range), scope);
  if (!range.type.is_error() && range.type.kind != Kind::Range) {
    diagnostics::Diagnostic diagnostic = diag::wrong_type(
        range.span, "`for` runs over a range `a .. b` or a list, not over " + scope.cx.text(range.type));
    if (range.type.kind == Kind::Int)
      diagnostic.help("`for {} in 0 .. {} { … }`", loop.variable.text, scope.cx.source_text(range.span));
    if (range.type.is_tensor())
      diagnostic.help("`scan x over {} dim 0 with … { … }` runs over a tensor", scope.cx.source_text(range.span));
    scope.cx.report(std::move(diagnostic));
    range.type = Type::error();
  }
  if (!scope.cx.graph.modules[scope.module].is_library) look_at_kept(loop, scope);
  forget_assigned(loop.body, scope);
  scope.frames.emplace_back();
  ++scope.loop_depth;
  const std::vector<Rounds> around = scope.rounds;
  const AtomId atom = enter_rounds(loop.variable, range, scope);
  const LocalId variable = scope.declare(loop.variable.text, Type::host_int(Polynomial::atom(atom)));
  Body body = check_body(loop.body, scope);
  scope.rounds = around;
  --scope.loop_depth;
  scope.frames.pop_back();
  if (range.type.is_error()) return {statement.span, stmt::Error{}};
  const auto* bounds = range.get<node::Range>();
  look_at_rounds(*bounds, range.span, body, scope);
  return {statement.span, stmt::For{variable, bounds->from, bounds->to, std::move(body)}};
}

Stmt check_while(const ast::While& loop, Span span, Scope& scope) {
  forget_assigned(loop.body, scope);
  look_at_condition(loop, scope);
  const ExprId condition = scope.cx.keep(check_condition(loop.condition, "while", scope));
  ++scope.loop_depth;
  Body body = check_branch(loop.body, scope);
  --scope.loop_depth;
  return {span, stmt::While{condition, std::move(body)}};
}

}  // namespace ltr::check
