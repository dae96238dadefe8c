#include "dsl/check/context.h"

namespace ltr::check {

Stmt make_stmt(StmtKind kind, Span span, std::vector<Expr> values) {
  Stmt stmt;
  stmt.kind = kind;
  stmt.span = span;
  stmt.values = std::move(values);
  return stmt;
}

Body check_nested(const ast::Body& body, Scope& scope) {
  scope.frames.emplace_back();
  Body typed = check_body(body, scope);
  scope.frames.pop_back();
  return typed;
}

namespace {

Stmt check_return(const ast::Stmt& statement, const ast::Return& result, Scope& scope) {
  Stmt stmt = make_stmt(StmtKind::Return, statement.span);
  const Type wanted = scope.info != nullptr ? scope.info->result : Type::of(Kind::Void);
  if (!result.value) {
    if (wanted.kind != Kind::Void && !wanted.is_error()) {
      scope.cx.report(
          diag::missing_return(statement.span, scope.info->name, scope.cx.text(wanted)));
    }
    return stmt;
  }
  Expr value = check_as(*result.value, wanted.kind == Kind::Void ? Type::error() : wanted, scope,
                        "the result");
  if (wanted.kind == Kind::Void && scope.info != nullptr) {
    if (!value.type.is_error()) {
      scope.cx.report(diag::wrong_type(value.span, "`" + scope.info->name + "` returns nothing")
                          .help("say what it gives: `-> {}`", scope.cx.text(value.type)));
    }
    return make_stmt(StmtKind::Error, statement.span);
  }
  // In `compute` an integer or exact result is a number all the same.
  const bool is_compute = scope.place == Place::Compute && value.type.is_tensor() &&
                          wanted.is_tensor() && wanted.dims.empty();
  Binding binding;
  if (!is_compute && !value.type.is_error() && !wanted.is_error() &&
      !match(wanted, value.type, binding, {}, value.span, scope, "the result", false)) {
    return make_stmt(StmtKind::Error, statement.span);
  }
  stmt.values.push_back(std::move(value));
  return stmt;
}

/// A loss: one floating number on the device.
Expr check_loss(const ast::Expr& expr, const char* verb, Scope& scope) {
  Context& cx = scope.cx;
  Expr loss = check_expr(expr, scope);
  const bool is_scalar =
      loss.type.is_tensor() && loss.type.dims.empty() && is_floating(loss.type.element);
  if (loss.type.is_error() || is_scalar) return loss;
  diagnostics::Diagnostic diagnostic = diag::loss_not_scalar(loss.span, cx.text(loss.type));
  if (loss.type.is_tensor() && is_floating(loss.type.element))
    diagnostic.help("take the mean: `{} mean({})`", verb, cx.source_text(loss.span));
  cx.report(std::move(diagnostic));
  loss.type = Type::error();
  return loss;
}

Stmt check_backward(const ast::Backward& backward, Span span, Scope& scope) {
  const bool is_manual = scope.place == Place::Step && scope.info->is_manual;
  Expr loss = check_loss(backward.loss, "backward", scope);
  if (!is_manual) {
    scope.cx.report(diag::wrong_place(span, "`backward` stands in manual steps")
                        .help("`minimize {}` differentiates and updates, or declare `step "
                              "train(…) manual {{ … }}`",
                              scope.cx.source_text(backward.loss.span)));
    return make_stmt(StmtKind::Error, span);
  }
  if (loss.type.is_error()) return make_stmt(StmtKind::Error, span);
  return make_stmt(StmtKind::Backward, span, {std::move(loss)});
}

Stmt check_minimize(const ast::Stmt& statement, const ast::Minimize& minimize, Scope& scope) {
  Context& cx = scope.cx;
  if (scope.place != Place::Step && scope.place != Place::Test) {
    cx.report(diag::wrong_place(statement.span, "`minimize` stands in steps"));
    return make_stmt(StmtKind::Error, statement.span);
  }
  if (scope.place == Place::Step && scope.info->is_manual) {
    cx.report(diag::wrong_place(statement.span, "a manual step does not `minimize`")
                  .help("`opt.zero_grad()`, `backward loss`, `opt.step()`"));
    return make_stmt(StmtKind::Error, statement.span);
  }
  if (scope.place == Place::Step &&
      (scope.info->name == "val" || scope.info->name == "test" || scope.info->name == "predict")) {
    cx.report(diag::minimize_in_evaluation(statement.span, scope.info->name));
    return make_stmt(StmtKind::Error, statement.span);
  }
  Expr loss = check_loss(minimize.loss, "minimize", scope);
  Expr optimizer;
  if (minimize.optimizer) {
    optimizer = check_expr(*minimize.optimizer, scope);
    if (!optimizer.type.is_error() && optimizer.type.kind != Kind::Optimizer) {
      cx.report(diag::wrong_type(optimizer.span,
                                 "`with` names an optimizer, not " + cx.text(optimizer.type)));
      optimizer.type = Type::error();
    }
  } else {
    std::vector<ast::Name> optimizers;
    if (scope.owner != nullptr) {
      for (const auto& [name, member] : scope.owner->members) {
        if (member.kind == MemberKind::Optimizer) optimizers.push_back({name, statement.span});
      }
    }
    if (optimizers.size() != 1) {
      cx.report(diag::which_optimizer(statement.span, std::to_string(optimizers.size()))
                    .help("`minimize {} with OPTIMIZER`", cx.source_text(minimize.loss.span)));
      return make_stmt(StmtKind::Error, statement.span);
    }
    optimizer = check_name({}, optimizers[0], scope);
  }
  if (loss.type.is_error() || optimizer.type.is_error())
    return make_stmt(StmtKind::Error, statement.span);
  return make_stmt(StmtKind::Minimize, statement.span, {std::move(loss), std::move(optimizer)});
}

Stmt check_assert(const ast::Stmt& statement, const ast::Assert& assertion, Scope& scope) {
  Expr condition = check_expr(assertion.condition, scope);
  const bool is_bool = condition.type.kind == Kind::Bool ||
                       (condition.type.is_tensor() && condition.type.element == Element::Bool &&
                        condition.type.dims.empty());
  if (!is_bool && !condition.type.is_error()) {
    scope.cx.report(diag::wrong_type(condition.span, "`assert` takes a bool or bool[], not " +
                                                         scope.cx.text(condition.type))
                        .help("for an element-wise comparison write `all(…)`"));
    return make_stmt(StmtKind::Error, statement.span);
  }
  Stmt stmt = make_stmt(StmtKind::Assert, statement.span, {std::move(condition)});
  stmt.text = scope.cx.source_text(assertion.condition.span);
  if (assertion.message)
    stmt.values.push_back(check_as(*assertion.message, Type::of(Kind::Str), scope, "the message"));
  return stmt;
}

bool leaves(const Body& body) {
  return !body.empty() &&
         (body.back().kind == StmtKind::Return || body.back().kind == StmtKind::Error);
}

/// Names that every path through a branch has assigned go on behind it, under one local of their
/// own.
void join_branches(Stmt& stmt, const std::map<std::string, LocalId> (&names)[2], Scope& scope) {
  Context& cx = scope.cx;
  const bool left[2] = {leaves(stmt.bodies[0]), leaves(stmt.bodies[1])};
  if (left[0] && left[1]) return;
  for (const auto& [name, local] : names[left[0] ? 1 : 0]) {
    const bool in_both = left[0] || left[1] || names[1].contains(name);
    if (!in_both || scope.find_local(name)) continue;
    LocalId ends[2] = {local, local};
    if (!left[0] && !left[1]) ends[1] = names[1].at(name);
    const auto type = merge(scope.local(ends[0]).type, scope.local(ends[1]).type, cx);
    if (!type) {
      cx.report(diag::branches_differ(stmt.span, cx.text(scope.local(ends[0]).type),
                                      cx.text(scope.local(ends[1]).type))
                    .note("`{}` is assigned in both", name));
      scope.declare(name, Type::error());
      continue;
    }
    const LocalId joined = scope.declare(name, *type);
    for (int side = 0; side < 2; ++side) {
      if (left[side]) continue;
      Expr value = make_expr(ExprKind::Local, scope.local(ends[side]).type, stmt.span, {}, name);
      value.local = ends[side];
      Stmt assign = make_stmt(StmtKind::Let, stmt.span, {convert(std::move(value), *type, scope)});
      assign.local = joined;
      stmt.bodies[size_t(side)].push_back(std::move(assign));
    }
  }
}

Stmt check_if(const ast::If& branch, Span span, Expr condition, Scope& scope) {
  Stmt stmt = make_stmt(StmtKind::If, span, {std::move(condition)});
  std::map<std::string, LocalId> names[2];
  const ast::Body* bodies[2] = {&branch.then_body, &branch.else_body};
  for (int side = 0; side < 2; ++side) {
    scope.frames.emplace_back();
    stmt.bodies.push_back(check_body(*bodies[side], scope));
    names[side] = scope.frames.back();
    scope.frames.pop_back();
  }
  join_branches(stmt, names, scope);
  return stmt;
}

Stmt check_for(const ast::Stmt& statement, const ast::For& loop, Scope& scope) {
  Expr range = check_expr(loop.range, scope);
  Stmt stmt = make_stmt(StmtKind::For, statement.span);
  if (!range.type.is_error() && range.type.kind != Kind::Range) {
    scope.cx.report(diag::wrong_type(
        range.span, "`for` runs over a range `a .. b`, not over " + scope.cx.text(range.type)));
    range.type = Type::error();
  }
  scope.frames.emplace_back();
  ++scope.loop_depth;
  const AtomId atom =
      scope.cx.program.atoms.variable(loop.variable.text, scope.cx.next_key++, false, false, true);
  stmt.local = scope.declare(loop.variable.text, Type::host_int(Polynomial::atom(atom)));
  stmt.bodies.push_back(check_body(loop.body, scope));
  --scope.loop_depth;
  scope.frames.pop_back();
  if (range.type.is_error()) return make_stmt(StmtKind::Error, statement.span);
  stmt.values = range.args;
  return stmt;
}

Stmt check_expression(const ast::Stmt& statement, const ast::ExprStmt& expression, Scope& scope) {
  Expr value = check_expr(expression.value, scope);
  if (value.type.is_error()) return make_stmt(StmtKind::Error, statement.span);
  const bool has_effect = value.type.kind == Kind::Void || value.kind == ExprKind::CallMetric;
  if (!has_effect && !scope.may_drop_values) {
    const bool is_call = expression.value.get<ast::Call>() != nullptr ||
                         expression.value.get<ast::Pipe>() != nullptr;
    scope.cx.report(diag::unused_value(value.span, is_call ? "call" : "expression")
                        .help("give it a name, `{} = …`, or take it away", "x"));
    return make_stmt(StmtKind::Error, statement.span);
  }
  const bool is_hook = value.kind == ExprKind::Op &&
                       (value.name == "stop" || value.name == "save" || value.name == "end_epoch");
  return make_stmt(is_hook ? StmtKind::HookCall : StmtKind::Expr, statement.span,
                   {std::move(value)});
}

Stmt check_stmt(const ast::Stmt& statement, Scope& scope) {
  const Span span = statement.span;
  if (const auto* s = statement.get<ast::Unpack>()) return check_unpack(statement, *s, scope);
  if (const auto* s = statement.get<ast::Assign>()) return check_assign(statement, *s, scope);
  if (const auto* s = statement.get<ast::Declare>()) return check_declare(statement, *s, scope);
  if (const auto* s = statement.get<ast::Return>()) return check_return(statement, *s, scope);
  if (const auto* s = statement.get<ast::Assert>()) return check_assert(statement, *s, scope);
  if (const auto* s = statement.get<ast::Minimize>()) return check_minimize(statement, *s, scope);
  if (const auto* s = statement.get<ast::Log>()) return check_log(statement, *s, scope);
  if (const auto* s = statement.get<ast::For>()) return check_for(statement, *s, scope);
  if (const auto* s = statement.get<ast::ExprStmt>()) return check_expression(statement, *s, scope);
  if (const auto* s = statement.get<ast::Print>()) {
    Stmt stmt = make_stmt(StmtKind::Print, span);
    for (const ast::Expr& value : s->values) stmt.values.push_back(check_expr(value, scope));
    if (scope.place != Place::Step && scope.place != Place::Hook && scope.place != Place::Test) {
      scope.cx.report(diag::wrong_place(span, "`print` stands in steps, hooks and tests"));
    }
    return stmt;
  }
  if (const auto* s = statement.get<ast::If>()) {
    Expr condition = check_expr(s->condition, scope);
    if (condition.type.is_tensor()) {
      scope.cx.report(diag::wrong_type(condition.span, "`if` takes a host bool, not " +
                                                           scope.cx.text(condition.type))
                          .help("`where(condition, a, b)` chooses on the device"));
    } else {
      condition = convert(std::move(condition), Type::of(Kind::Bool), scope, "the condition");
    }
    return check_if(*s, span, std::move(condition), scope);
  }
  if (const auto* s = statement.get<ast::While>()) {
    Stmt stmt = make_stmt(StmtKind::While, span,
                          {check_as(s->condition, Type::of(Kind::Bool), scope, "the condition")});
    ++scope.loop_depth;
    stmt.bodies.push_back(check_nested(s->body, scope));
    --scope.loop_depth;
    return stmt;
  }
  if (const auto* s = statement.get<ast::Every>()) {
    if (scope.place != Place::Step && scope.place != Place::Hook) {
      scope.cx.report(diag::wrong_place(span, "`every` stands in steps and hooks"));
    }
    Stmt stmt = make_stmt(StmtKind::Every, span,
                          {check_as(s->period, Type::of(Kind::Period), scope, "the period")});
    stmt.bodies.push_back(check_nested(s->body, scope));
    return stmt;
  }
  if (const auto* s = statement.get<ast::NoGrad>()) {
    Stmt stmt = make_stmt(StmtKind::NoGrad, span);
    stmt.bodies.push_back(check_nested(s->body, scope));
    return stmt;
  }
  if (const auto* s = statement.get<ast::ErrorStmt>()) {
    for (const ast::Name& name : s->names) {
      if (!outer_local(name.text, scope)) scope.declare(name.text, Type::error());
    }
  }
  if (statement.get<ast::Yield>() != nullptr)
    scope.cx.report(diag::wrong_place(span, "`yield` stands at the end of the body of a `scan`"));
  if (const auto* s = statement.get<ast::Backward>()) return check_backward(*s, span, scope);
  return make_stmt(StmtKind::Error, span);
}

}  // namespace

Body check_body(const ast::Body& body, Scope& scope) {
  Body typed;
  const bool in_scan = std::exchange(scope.in_scan, false);
  for (const ast::Stmt& statement : body) {
    const auto* yield = statement.get<ast::Yield>();
    if (yield != nullptr && in_scan && &statement == &body.back()) {
      Expr value = check_expr(yield->value, scope);
      const StmtKind kind = value.type.is_error() ? StmtKind::Error : StmtKind::Yield;
      typed.push_back(make_stmt(kind, statement.span, {std::move(value)}));
    } else {
      typed.push_back(check_stmt(statement, scope));
    }
  }
  // The graph of a step may go after its last update.
  std::vector<Stmt*> updates;
  for (Stmt& stmt : typed) {
    if (stmt.kind == StmtKind::Minimize) updates.push_back(&stmt);
  }
  if (!updates.empty() && scope.loop_depth == 0) updates.back()->is_last = true;
  return typed;
}

}  // namespace ltr::check
