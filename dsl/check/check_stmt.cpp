#include "dsl/check/context.h"

namespace ltr::check {

namespace {

Stmt make_stmt(StmtKind kind, Span span, std::vector<Expr> values = {}) {
  Stmt stmt;
  stmt.kind = kind;
  stmt.span = span;
  stmt.values = std::move(values);
  return stmt;
}

bool is_nested(const Scope& scope) {
  return scope.frames.size() > 2;
}

/// Where an existing local lives, if it is not of the innermost body.
std::optional<LocalId> outer_local(const std::string& name, const Scope& scope) {
  if (!is_nested(scope) || scope.frames.back().contains(name)) return std::nullopt;
  return scope.find_local(name);
}

/// Assigns to a variable of an enclosing body. A loop keeps its type; after a branch dims that
/// differ are `?`.
bool rejoin(LocalId local, Expr& value, Scope& scope) {
  Context& cx = scope.cx;
  const Type declared = scope.local(local).type;
  if (declared.is_error() || value.type.is_error() || declared == value.type) return true;
  value = convert(std::move(value), declared, scope, "the value");
  if (value.type.is_error()) return false;
  const auto merged = merge(declared, value.type, cx);
  if (!merged) {
    cx.report(
        diag::branches_differ(value.span, cx.text(declared), cx.text(value.type))
            .note("`{}` keeps its type where branches and loops meet", scope.local(local).name));
    return false;
  }
  if (scope.loop_depth > 0 && declared.is_tensor()) {
    for (size_t i = 0; i < declared.dims.size(); ++i) {
      const Polynomial& kept = declared.dims[i].size;
      if (declared.dims[i] == value.type.dims[i] || cx.program.atoms.mentions_unknown(kept))
        continue;
      cx.report(diag::wrong_type(value.span, "a loop carries `" + scope.local(local).name +
                                                 "`: it stays " + cx.text(declared) +
                                                 ", and cannot become " + cx.text(value.type))
                    .help("declare the dim that grows before the loop: `{}: {}[…, ?] = …`",
                          scope.local(local).name, to_text(declared.element)));
      return false;
    }
    return true;
  }
  scope.local(local).type = *merged;
  return true;
}

Stmt assign_name(const ast::Name& name, Expr value, Span span, Scope& scope) {
  Context& cx = scope.cx;
  if (scope.owner != nullptr) {
    if (const auto member = scope.owner->members.find(name.text);
        member != scope.owner->members.end()) {
      const MemberKind kind = member->second.kind;
      if (kind == MemberKind::Buffer || kind == MemberKind::State) {
        value = convert(std::move(value), member->second.type, scope, "the value");
        Binding binding;
        if (value.type.is_error() || !match(member->second.type, value.type, binding, {},
                                            value.span, scope, "the value", false)) {
          return make_stmt(StmtKind::Error, span);
        }
        Stmt stmt = make_stmt(StmtKind::SetMember, span, {std::move(value)});
        stmt.name = name.text;
        return stmt;
      }
      const char* what =
          kind == MemberKind::Weight ? "a weight: optimizers change it" : "a member, built once";
      cx.report(diag::not_assignable_member(name.span, name.text, what)
                    .help("choose another name for the local"));
      return make_stmt(StmtKind::Error, span);
    }
    for (const ParamInfo& param : scope.owner->params) {
      if (param.name != name.text || scope.info == nullptr || scope.find_local(name.text)) continue;
      cx.report(diag::not_assignable_member(name.span, name.text,
                                            "a parameter of `" + scope.owner->name + "`")
                    .help("choose another name for the local"));
      return make_stmt(StmtKind::Error, span);
    }
  }
  Stmt stmt = make_stmt(StmtKind::Let, span);
  if (const auto outer = outer_local(name.text, scope)) {
    if (!rejoin(*outer, value, scope)) return make_stmt(StmtKind::Error, span);
    stmt.local = *outer;
  } else {
    stmt.local = scope.declare(name.text, value.type);
  }
  stmt.values.push_back(std::move(value));
  return stmt;
}

Stmt check_assign(const ast::Stmt& statement, const ast::Assign& assign, Scope& scope) {
  ast::Expr source = assign.value;
  if (assign.op != ast::AssignOp::Set) {
    // `x += e` is `x = x + e`.
    ast::Binary binary;
    binary.op = assign.op == ast::AssignOp::Add        ? ast::BinaryOp::Add
                : assign.op == ast::AssignOp::Subtract ? ast::BinaryOp::Subtract
                : assign.op == ast::AssignOp::Multiply ? ast::BinaryOp::Multiply
                                                       : ast::BinaryOp::Divide;
    binary.op_span = assign.op_span;
    binary.left = assign.target;
    binary.right = assign.value;
    source.node = std::move(binary);
    source.span = statement.span;
  }
  Expr value = check_expr(source, scope);
  const auto* name = assign.target.get<ast::NameRef>();
  if (name == nullptr) {
    if (!assign.target.is_error()) {
      scope.cx.report(
          diag::not_in_this_version(assign.target.span, "assigning to a part of a value"));
    }
    return make_stmt(StmtKind::Error, statement.span);
  }
  if (value.type.kind == Kind::Void || value.type.kind == Kind::MetricValue) {
    scope.cx.report(diag::wrong_type(value.span, value.type.kind == Kind::Void
                                                     ? "this gives no value"
                                                     : "the value of a metric can only be logged"));
    value.type = Type::error();
  }
  if (value.type.kind == Kind::None) {
    scope.cx.report(diag::wrong_type(value.span, "`none` alone has no type: declare it, `" +
                                                     name->name.text + ": option[…] = none`"));
    value.type = Type::error();
  }
  return assign_name(name->name, std::move(value), statement.span, scope);
}

Stmt check_unpack(const ast::Stmt& statement, const ast::Unpack& unpack, Scope& scope) {
  Expr value = check_expr(unpack.value, scope);
  Stmt stmt = make_stmt(StmtKind::Unpack, statement.span);
  const bool is_sequence =
      value.type.kind == Kind::Tuple || (value.type.kind == Kind::List && !value.type.uniform);
  if (!value.type.is_error() && (!is_sequence || value.type.fields.size() != unpack.names.size())) {
    scope.cx.report(diag::wrong_type(value.span, std::to_string(unpack.names.size()) +
                                                     " names cannot take " +
                                                     scope.cx.text(value.type) + " apart"));
    value.type = Type::error();
  }
  for (size_t i = 0; i < unpack.names.size(); ++i) {
    const Type type = value.type.is_error() ? Type::error() : value.type.fields[i].type;
    const std::string& name = unpack.names[i].text;
    if (scope.owner != nullptr && scope.owner->members.contains(name)) {
      scope.cx.report(
          diag::not_assignable_member(unpack.names[i].span, name, "a member, built once")
              .help("choose another name for the local"));
    }
    const auto outer = outer_local(name, scope);
    stmt.locals.push_back(outer ? *outer : scope.declare(name, type));
  }
  stmt.values.push_back(std::move(value));
  return stmt;
}

Stmt check_declare(const ast::Stmt& statement, const ast::Declare& declare, Scope& scope) {
  const Type type = check_type(declare.type, scope);
  Expr value = check_as(declare.value, type, scope, "the value");
  Binding binding;
  if (!value.type.is_error() && !type.is_error()) {
    match(type, value.type, binding, {}, value.span, scope, "the value", false);
  }
  Stmt stmt = make_stmt(StmtKind::Let, statement.span);
  stmt.local = scope.declare(declare.name.text, type);
  stmt.values.push_back(std::move(value));
  return stmt;
}

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

/// The role that logs of a step or hook belong to, `train` of `train_epoch_end`.
std::string role_of(const Scope& scope) {
  const std::string& name = scope.info != nullptr ? scope.info->name : "";
  for (const char* role : {"train", "val", "test"}) {
    if (name == role || name.starts_with(std::string(role) + "_")) return role;
  }
  if (scope.place == Place::Hook && (name == "before_backward" || name == "after_backward" ||
                                     name == "before_step" || name == "after_step")) {
    return "train";
  }
  return "";
}

Stmt check_log(const ast::Stmt& statement, const ast::Log& log, Scope& scope) {
  Context& cx = scope.cx;
  const std::string role = role_of(scope);
  if ((scope.place != Place::Step && scope.place != Place::Hook) || role.empty()) {
    cx.report(diag::log_misplaced(
        statement.span, scope.place == Place::Step
                            ? "`log` has no meaning in step " + scope.info->name
                            : "`log` stands in steps and in hooks of train, val and test"));
    return make_stmt(StmtKind::Error, statement.span);
  }
  Expr value = log.value ? check_expr(*log.value, scope) : check_name({}, log.name, scope);
  LogEntry entry;
  entry.name = log.name.text;
  entry.role = role;
  if (value.type.is_error()) {
    // Still logged, so that a monitor of it is no second mistake.
    entry.kind = "error";
    entry.owner = scope.owner != nullptr ? scope.owner->name : "";
    cx.program.logs.push_back(std::move(entry));
    return make_stmt(StmtKind::Error, statement.span);
  }
  entry.bar = log.bar;
  entry.owner = scope.owner != nullptr ? scope.owner->name : "";
  entry.span = log.name.span;
  const bool is_metric = value.type.kind == Kind::MetricValue;
  if (is_metric && !value.args.empty())
    entry.better = cx.program.metrics[value.args[0].type.decl].better;
  switch (log.kind) {
    case ast::LogKind::Scalar:
      entry.kind = is_metric ? "metric" : "scalar";
      if (!is_metric && !value.type.is_host_number() &&
          !(value.type.is_tensor() && value.type.dims.empty())) {
        cx.report(diag::wrong_type(
            value.span,
            "`log` takes a number, a 0-d tensor or a metric, not " + cx.text(value.type)));
        return make_stmt(StmtKind::Error, statement.span);
      }
      break;
    case ast::LogKind::Image:
      entry.kind = "image";
      break;
    case ast::LogKind::Histogram:
      entry.kind = "histogram";
      break;
    case ast::LogKind::Text:
      entry.kind = "text";
      break;
  }
  if ((log.kind == ast::LogKind::Image || log.kind == ast::LogKind::Histogram) && !is_metric &&
      !value.type.is_tensor()) {
    cx.report(diag::wrong_type(value.span, "a tensor is wanted here, not " + cx.text(value.type)));
    return make_stmt(StmtKind::Error, statement.span);
  }
  if (log.kind == ast::LogKind::Text && value.type.kind != Kind::Str) {
    cx.report(diag::wrong_type(value.span, "`log text` takes a str, not " + cx.text(value.type)));
    return make_stmt(StmtKind::Error, statement.span);
  }
  const bool on_step =
      role == "train" && scope.info->name != "train_epoch_end" && scope.info->name != "train_end";
  switch (log.when) {
    case ast::LogWhen::Default:
      entry.when = on_step && !is_metric ? "step" : "epoch";
      break;
    case ast::LogWhen::Step:
      entry.when = "step";
      break;
    case ast::LogWhen::Epoch:
      entry.when = "epoch";
      break;
    case ast::LogWhen::Both:
      entry.when = "both";
      break;
  }
  if (!on_step && entry.when != "epoch") {
    cx.report(diag::log_misplaced(log.when_span,
                                  "outside of training values are recorded on epoch only"));
    entry.when = "epoch";
  }
  entry.reduce = "mean";
  if (log.reduce) {
    static const std::set<std::string> kReduces = {"sum", "mean", "min", "max"};
    if (!kReduces.contains(log.reduce->text)) {
      cx.report(diag::log_misplaced(log.reduce->span, "`log` reduces by sum, mean, min or max"));
    } else if (is_metric) {
      cx.report(diag::log_misplaced(log.reduce->span, "a metric brings its own reduction"));
    } else {
      entry.reduce = log.reduce->text;
    }
  }
  for (const LogEntry& other : cx.program.logs) {
    if (other.kind != "error" && other.owner == entry.owner && other.role == entry.role &&
        other.name == entry.name &&
        (other.kind != entry.kind || other.when != entry.when || other.reduce != entry.reduce)) {
      cx.report(diag::logged_twice(log.name.span, role + "." + entry.name)
                    .label(other.span, "first here"));
    }
  }
  Stmt stmt = make_stmt(StmtKind::Log, statement.span, {std::move(value)});
  stmt.index = uint32_t(cx.program.logs.size());
  cx.program.logs.push_back(std::move(entry));
  return stmt;
}

Stmt check_minimize(const ast::Stmt& statement, const ast::Minimize& minimize, Scope& scope) {
  Context& cx = scope.cx;
  if (scope.place != Place::Step && scope.place != Place::Test) {
    cx.report(diag::wrong_place(statement.span, "`minimize` stands in steps"));
    return make_stmt(StmtKind::Error, statement.span);
  }
  if (scope.place == Place::Step &&
      (scope.info->name == "val" || scope.info->name == "test" || scope.info->name == "predict")) {
    cx.report(diag::minimize_in_evaluation(statement.span, scope.info->name));
    return make_stmt(StmtKind::Error, statement.span);
  }
  Expr loss = check_expr(minimize.loss, scope);
  if (!loss.type.is_error() &&
      !(loss.type.is_tensor() && loss.type.dims.empty() && is_floating(loss.type.element))) {
    diagnostics::Diagnostic diagnostic = diag::loss_not_scalar(loss.span, cx.text(loss.type));
    if (loss.type.is_tensor())
      diagnostic.help("take the mean: `minimize mean({})`", cx.source_text(loss.span));
    cx.report(std::move(diagnostic));
    loss.type = Type::error();
  }
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

Body check_nested(const ast::Body& body, Scope& scope) {
  scope.frames.emplace_back();
  Body typed = check_body(body, scope);
  scope.frames.pop_back();
  return typed;
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
    scope.cx.report(diag::wrong_place(span, "`yield` stands in `scan`"));
  if (statement.get<ast::Backward>() != nullptr)
    scope.cx.report(diag::not_in_this_version(span, "`backward`"));
  return make_stmt(StmtKind::Error, span);
}

}  // namespace

Body check_body(const ast::Body& body, Scope& scope) {
  Body typed;
  for (const ast::Stmt& statement : body) typed.push_back(check_stmt(statement, scope));
  // The graph of a step may go after its last update.
  std::vector<Stmt*> updates;
  for (Stmt& stmt : typed) {
    if (stmt.kind == StmtKind::Minimize) updates.push_back(&stmt);
  }
  if (!updates.empty() && scope.loop_depth == 0) updates.back()->is_last = true;
  return typed;
}

}  // namespace ltr::check
