// `for` and `while`.

#include <algorithm>

#include "dsl/ast/assigned.h"
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
  return {statement.span, stmt::For{variable, bounds->from, bounds->to, std::move(body)}};
}

Stmt check_while(const ast::While& loop, Span span, Scope& scope) {
  forget_assigned(loop.body, scope);
  const ExprId condition = scope.cx.keep(check_condition(loop.condition, "while", scope));
  ++scope.loop_depth;
  Body body = check_branch(loop.body, scope);
  --scope.loop_depth;
  return {span, stmt::While{condition, std::move(body)}};
}

}  // namespace ltr::check
