#include <algorithm>
#include <cmath>
#include <utility>

#include "dsl/ast/walk.h"
#include "dsl/check/declarations/declarations.h"
#include "dsl/check/expressions/origins.h"
#include "dsl/check/scope/aside.h"
#include "dsl/check/statements/statements.h"

namespace ltr::check {

Body check_nested(const ast::Body& body, Scope& scope) {
  scope.frames.emplace_back();
  Body typed = check_body(body, scope);
  scope.frames.pop_back();
  return typed;
}

Body check_branch(const ast::Body& body, Scope& scope) {
  Body typed;
  within_branch(scope, [&] { typed = check_nested(body, scope); });
  return typed;
}

Expr check_condition(const ast::Expr& expr, const char* word, Scope& scope) {
  const auto* lambda = expr.get<ast::Lambda>();
  if (lambda != nullptr && is_in_scope(lambda->param.text, scope)) {
    const Span sign = {expr.span.source, lambda->param.span.end, lambda->value->span.begin};
    scope.cx.report(diag::wrong_type(expr.span, "`=>` makes a function, and `" + std::string(word) + "` takes a bool")
                        .help("did you mean `{} >= {}`?", lambda->param.text, scope.cx.source_text(lambda->value->span))
                        .fix(sign, " >= "));
    return error_at(expr.span);
  }
  Expr condition = check_expr(expr, scope);
  if (!condition.type.is_tensor()) return convert(std::move(condition), Type::of(Kind::Bool), scope, "the condition");
  diagnostics::Diagnostic diagnostic = diag::wrong_type(
      condition.span, "`" + std::string(word) + "` takes a host bool, not " + scope.cx.text(condition.type));
  const std::string text = scope.cx.source_text(condition.span);
  // A function may be one that `step train` calls.
  if (scope.in_train || scope.place == Place::Fn) {
    diagnostic.help("`where(condition, a, b)` chooses on the device");
  } else if (may_have_several_elements(condition.type)) {
    const Type bools = Type::tensor(Element::Bool, condition.type.dims);
    diagnostic.help("{}; `where(condition, a, b)` chooses for each", reductions_of(bools, text));
  } else {
    diagnostic.help("`{}.item()` reads it; `where(condition, a, b)` chooses on the device",
                    expr.get<ast::Binary>() != nullptr ? "(" + text + ")" : text);
  }
  scope.cx.report(std::move(diagnostic));
  condition.type = Type::error();
  return condition;
}

namespace {

/// Whether a value fits the declared result; of a record that is written, each field where it stands.
bool fits_result(const Type& wanted, const ExprView& value, Scope& scope) {
  Binding binding;
  const auto* record = value.get<node::Record>();
  for (size_t i = 0; record != nullptr && i < record->values.size() && i < value.type.fields.size(); ++i) {
    const TypeField& field = value.type.fields[i];
    const TypeField* same = wanted.find(field.name, i);
    const Span place = scope.cx.at(record->values[i]).span;
    if (same != nullptr &&
        !match(same->type, field.type, binding, {}, place, scope, "the field `" + field.name + "`", false))
      return false;
  }
  const auto* tuple = value.get<node::Tuple>();
  const bool is_by_part =
      tuple != nullptr && wanted.kind == Kind::Tuple && wanted.fields.size() == tuple->elements.size();
  for (size_t i = 0; is_by_part && i < tuple->elements.size(); ++i) {
    const Span place = scope.cx.at(tuple->elements[i]).span;
    const std::string what = "part " + std::to_string(i + 1) + " of the result";
    if (!match(wanted.fields[i].type, value.type.fields[i].type, binding, {}, place, scope, what, false)) return false;
  }
  return match(wanted, value.type, binding, {}, value.span, scope, "the result", false);
}

/// Adds what gives the size of the result, or of the part of it, that a message speaks of.
void label_origin(diagnostics::Diagnostic& diagnostic, const ExprView& value, const Type& wanted, Scope& scope) {
  if (diagnostic.code != diagnostics::Code::E0303) return;
  if (value.span == diagnostic.span && value.type.is_tensor()) {
    label_layer(diagnostic, value, scope);
    return label_taken(diagnostic, value, wanted, scope);
  }
  const auto* record = value.get<node::Record>();
  const auto* tuple = value.get<node::Tuple>();
  if (record == nullptr && tuple == nullptr) return;
  for (const ExprId part : record != nullptr ? record->values : tuple->elements) {
    if (scope.cx.at(part).span == diagnostic.span) label_layer(diagnostic, scope.cx.at(part), scope);
  }
}

/// The same, with a label at the declared result of what does not fit, if that is on another line.
bool fits_declared(const Type& wanted, const ExprView& value, Scope& scope) {
  Context& cx = scope.cx;
  diagnostics::Sink found;
  bool fits = false;
  {
    const Aside aside(cx, found);
    fits = fits_result(wanted, value, scope);
  }
  const bool is_written = scope.info != nullptr && scope.info->ast != nullptr && scope.info->ast->result;
  const Span declared = is_written ? scope.info->ast->result->span : Span{};
  for (diagnostics::Diagnostic one : found.reported()) {
    if (is_written && !declared.is_empty() && cx.line_of(declared) != cx.line_of(one.span))
      one.label(declared, "declared here");
    label_origin(one, value, wanted, scope);
    cx.report(std::move(one));
  }
  return fits;
}

}  // namespace

Stmt check_result(const ast::Expr& result, Span span, Scope& scope) {
  const Type wanted = scope.info != nullptr ? scope.info->result : Type::of(Kind::Void);
  Expr value = check_as(result, wanted.kind == Kind::Void ? Type::error() : wanted, scope, "the result");
  if (!value.type.is_error()) look_at_fields(result, wanted, scope);
  // A float of `compute` is f64 where it runs, and what it counts is a number all the same.
  const bool is_vector = wanted.is_tensor() && !wanted.dims.empty() && is_floating(wanted.element);
  if (scope.place == Place::Compute && is_vector && value.type.is_tensor() && value.type.element != wanted.element) {
    Type type = value.type;
    type.element = wanted.element;
    value = {std::move(type), value.span, node::Convert{scope.cx.keep(std::move(value))}};
  }
  if (wanted.kind == Kind::Void && scope.info != nullptr) {
    // Code cannot give away a function; of other values a second `return` says nothing new.
    const bool is_code = value.type.kind == Kind::Function || holds_layers(value.type);
    const bool is_update = scope.place == Place::Update;
    if (scope.place != Place::Hook && scope.place != Place::Test)
      scope.info->result = is_code || is_update ? Type::error() : value.type;
    if (!value.type.is_error()) {
      const std::string text = scope.cx.text(value.type), written = scope.cx.source_text(value.span);
      diagnostics::Diagnostic diagnostic = diag::result_not_declared(value.span, scope.info->name, text);
      const bool is_loss = scope.in_train && value.type.is_tensor() && value.type.dims.empty();
      Find<ast::Minimize> minimized;
      if (is_loss) {
        for (const ast::Stmt& statement : scope.info->ast->body) minimized(statement);
      }
      Find<ast::Backward> backward;
      if (is_loss && scope.info->is_manual) {
        for (const ast::Stmt& statement : scope.info->ast->body) backward(statement);
      }
      if (is_update)
        diagnostic.help("`update` gives nothing: take the `return` away; `compute` says the value");
      else if (minimized.found)
        diagnostic.help("a train step gives nothing: leave it out").fix(span, "");
      else if (backward.found)
        diagnostic.help("it goes backward above, and a train step gives nothing: take the `return` away").fix(span, "");
      else if (is_loss && scope.info->is_manual)
        diagnostic.help("a manual step goes backward from its loss: `backward {}`", written)
            .fix(span, "backward " + written);
      else if (is_loss)
        diagnostic.help("a train step minimizes its loss: `minimize {}`", written).fix(span, "minimize " + written);
      else
        diagnostic.help("{}", is_code ? "what a function gives is a value: call it here"
                                      : "declare what it gives: `-> " + text + "`");
      scope.cx.report(std::move(diagnostic));
    }
    return {span, stmt::Error{}};
  }
  if (wanted.is_error()) return {span, stmt::Error{}};
  // In `compute` an integer or exact result is a number all the same.
  const bool is_compute =
      scope.place == Place::Compute && value.type.is_tensor() && wanted.is_tensor() && wanted.dims.empty();
  if (is_compute && may_have_several_elements(value.type)) {
    scope.cx.report(diag::wrong_rank(value.span, "the result must be one number, not " + scope.cx.text(value.type))
                        .help("{}; what gives several says so: `-> {}`",
                              reductions_of(value.type, scope.cx.source_text(value.span)), scope.cx.text(value.type)));
    return {span, stmt::Error{}};
  }
  if (!is_compute && !value.type.is_error() && !fits_declared(wanted, value, scope)) {
    // Whether the declared type is meant, or that of the value, nobody knows: callers are not judged by either.
    if (scope.info != nullptr) scope.info->result = Type::error();
    return {span, stmt::Error{}};
  }
  return {span, stmt::Return{scope.cx.keep(std::move(value))}};
}

namespace {

Stmt check_return(const ast::Stmt& statement, const ast::Return& result, Scope& scope) {
  if (result.value) return check_result(*result.value, statement.span, scope);
  const Type wanted = scope.info != nullptr ? scope.info->result : Type::of(Kind::Void);
  if (wanted.kind != Kind::Void && !wanted.is_error()) {
    scope.cx.report(diag::missing_return(statement.span, scope.info->name, scope.cx.text(wanted)));
  }
  return {statement.span, stmt::Return{}};
}

Stmt check_backward(const ast::Backward& backward, Span span, Scope& scope) {
  const bool is_manual = scope.place == Place::Step && scope.info->is_manual;
  Expr loss = check_loss(backward.loss, "backward", scope);
  if (!is_manual) {
    if (scope.place == Place::Step && std::exchange(scope.info->is_told_manual, true)) return {span, stmt::Error{}};
    scope.cx.report(diag::wrong_place(span, "`backward` stands in manual steps")
                        .help("`minimize {}` differentiates and updates, or declare `step "
                              "train(…) manual { … }`",
                              scope.cx.source_text(backward.loss.span)));
    return {span, stmt::Error{}};
  }
  if (loss.type.is_error()) return {span, stmt::Error{}};
  return {span, stmt::Backward{scope.cx.keep(std::move(loss))}};
}

Stmt check_assert(const ast::Stmt& statement, const ast::Assert& assertion, Scope& scope) {
  if (scope.place != Place::Step && scope.place != Place::Hook && scope.place != Place::Test) {
    scope.cx.report(diag::wrong_place(statement.span, "`assert` stands in steps, hooks and tests")
                        .help("what callers must satisfy is a `where` of the function"));
  }
  Expr condition = check_expr(assertion.condition, scope);
  const bool is_bool =
      condition.type.kind == Kind::Bool ||
      (condition.type.is_tensor() && condition.type.element == Element::Bool && condition.type.dims.empty());
  if (!is_bool && !condition.type.is_error()) {
    scope.cx.report(
        diag::wrong_type(condition.span, "`assert` takes a bool or bool[], not " + scope.cx.text(condition.type))
            .help("for an element-wise comparison write `all(…)`"));
    return {statement.span, stmt::Error{}};
  }
  stmt::Assert result;
  result.condition = scope.cx.keep(std::move(condition));
  result.text = scope.cx.source_text(assertion.condition.span);
  if (assertion.message)
    result.message = scope.cx.keep(check_as(*assertion.message, Type::of(Kind::Str), scope, "the message"));
  return {statement.span, std::move(result)};
}

bool leaves(const Body& body) {
  return !body.empty() && (body.back().is<stmt::Return>() || body.back().is<stmt::Error>());
}

/// Names that every path through a branch has assigned go on behind it, under one local of their
/// own.
void join_branches(stmt::If& branch, Span span, const std::map<std::string, LocalId> (&names)[2], Scope& scope) {
  Context& cx = scope.cx;
  Body* const bodies[2] = {&branch.then_body, &branch.else_body};
  const bool left[2] = {leaves(branch.then_body), leaves(branch.else_body)};
  if (left[0] && left[1]) return;
  for (const auto& [name, local] : names[left[0] ? 1 : 0]) {
    const bool in_both = left[0] || left[1] || names[1].contains(name);
    if (!in_both || scope.find_local(name)) continue;
    LocalId ends[2] = {local, local};
    if (!left[0] && !left[1]) ends[1] = names[1].at(name);
    const auto type = merge(scope.local(ends[0]).type, scope.local(ends[1]).type, cx);
    if (!type) {
      cx.report(diag::branches_differ(span, cx.text(scope.local(ends[0]).type), cx.text(scope.local(ends[1]).type))
                    .note("`{}` is assigned in both", name));
      scope.declare(name, Type::error());
      continue;
    }
    const LocalId joined = scope.declare(name, *type);
    for (int side = 0; side < 2; ++side) {
      if (left[side]) continue;
      Expr value = convert(local_expr(ends[side], scope, span), *type, scope);
      bodies[side]->push_back({span, stmt::Let{joined, cx.keep(std::move(value))}});
    }
  }
}

Stmt check_if(const ast::If& branch, Span span, Expr condition, Scope& scope) {
  stmt::If result;
  result.condition = scope.cx.keep(std::move(condition));
  std::map<std::string, LocalId> names[2];
  const auto side = [&](const ast::Body& body, std::map<std::string, LocalId>& own) {
    Body typed;
    scope.frames.emplace_back();
    within_branch(scope, [&] { typed = check_body(body, scope); });
    own = scope.frames.back();
    scope.frames.pop_back();
    return typed;
  };
  result.then_body = side(branch.then_body, names[0]);
  result.else_body = side(branch.else_body, names[1]);
  join_branches(result, span, names, scope);
  return {span, std::move(result)};
}

/// Whether a function that has to give something ends with this statement.
bool is_last_of_result(const ast::Stmt& statement, const Scope& scope) {
  const ast::Fn* fn = scope.info != nullptr ? scope.info->ast : nullptr;
  return fn != nullptr && fn->result && !fn->body.empty() && &fn->body.back() == &statement;
}

/// `log loss` of `log(loss)`, which is a logarithm; "" if it is another call.
std::string logged_by_call(const ast::Expr& value, const Scope& scope) {
  const auto* call = value.get<ast::Call>();
  const auto* callee = call != nullptr ? call->callee->get<ast::NameRef>() : nullptr;
  const bool is_log = callee != nullptr && callee->name.text == "log" && call->arguments.size() == 1;
  const auto* name = is_log ? call->arguments[0].value->get<ast::NameRef>() : nullptr;
  if (name != nullptr) return "log " + name->name.text;
  return is_log ? "log NAME = " + scope.cx.source_text(call->arguments[0].value->span) : "";
}

/// `h == net(x)`, meant as an assignment. False if it is none, or `h` has a value.
bool report_compared_name(const ast::Expr& value, Scope& scope) {
  const auto* binary = value.get<ast::Binary>();
  const auto* name =
      binary != nullptr && binary->op == ast::BinaryOp::Equal ? binary->left->get<ast::NameRef>() : nullptr;
  if (name == nullptr || is_in_scope(name->name.text, scope)) return false;
  scope.cx.report(diag::unknown_name(name->name.span, name->name.text)
                      .help("a value is given with one `=`: `{} = …`", name->name.text)
                      .fix(binary->op_span, "="));
  scope.declare(name->name.text, check_expr(*binary->right, scope).type);
  return true;
}

/// `h.reshape(B, 8)` alone was to change `h`: what does not fit below follows from that.
void forget_unchanged(const ExprView& value, Scope& scope) {
  const auto* op = value.get<node::Op>();
  if (op == nullptr || op->args.empty() || !value.type.is_tensor()) return;
  const ExprView& first = scope.cx.at(op->args[0]);
  const auto* local = first.get<node::Local>();
  if (local != nullptr && first.type.is_tensor() && first.type != value.type)
    scope.local(local->local).type = Type::error();
}

Stmt check_expression(const ast::Stmt& statement, const ast::ExprStmt& expression, Scope& scope) {
  if (report_compared_name(expression.value, scope) || report_misspelt_word(expression.value, scope))
    return {statement.span, stmt::Error{}};
  Expr value = check_expr(expression.value, scope);
  if (value.type.is_error()) return {statement.span, stmt::Error{}};
  const auto* update = value.get<node::CallMetric>();
  if (update != nullptr && !scope.may_drop_values) {
    const std::string text = scope.cx.source_text(value.span);
    scope.cx.report(diag::unused_value(value.span, "metric").help("log it, or nobody sees it: `log NAME = {}`", text));
    note_lost_log(*update, scope);
    return {statement.span, stmt::Error{}};
  }
  const bool has_effect = value.type.kind == Kind::Void;
  if (!has_effect && !scope.may_drop_values) {
    const bool is_call = expression.value.get<ast::Call>() != nullptr || expression.value.get<ast::Pipe>() != nullptr;
    diagnostics::Diagnostic diagnostic = diag::unused_value(value.span, is_call ? "call" : "expression");
    if (value.is<node::StrConst>())
      diagnostic.help("a comment begins with `#`; what documents a declaration stands above it, behind `##`");
    else if (is_last_of_result(statement, scope))
      diagnostic.help("what a function gives stands behind `return`")
          .fix({statement.span.source, statement.span.begin, statement.span.begin}, "return ");
    else if (const std::string logged = logged_by_call(expression.value, scope); !logged.empty())
      diagnostic.help("what is recorded is said by a statement: `{}`", logged).fix(statement.span, logged);
    else
      diagnostic.help("give it a name, `{} = …`, or take it away", "x");
    scope.cx.report(std::move(diagnostic));
    forget_unchanged(value, scope);
    return {statement.span, stmt::Error{}};
  }
  const auto* op = value.get<node::Op>();
  const bool is_hook = op != nullptr && library::info(op->op).asks_trainer && scope.place == Place::Hook;
  const ExprId kept = scope.cx.keep(std::move(value));
  if (is_hook) return {statement.span, stmt::HookCall{kept}};
  return {statement.span, stmt::Eval{kept}};
}

Stmt check_print(const ast::Print& print, Span span, Scope& scope) {
  stmt::Print result;
  for (const ast::Expr& value : print.values) {
    Expr checked = check_expr(value, scope);
    if (!is_printable(checked.type)) {
      scope.cx.report(
          diag::wrong_type(checked.span, "a value of type " + scope.cx.text(checked.type) + " cannot be printed"));
      checked = error_at(checked.span);
    }
    result.values.push_back(scope.cx.keep(std::move(checked)));
  }
  if (scope.place != Place::Step && scope.place != Place::Hook && scope.place != Place::Test)
    scope.cx.report(diag::wrong_place(span, "`print` stands in steps, hooks and tests"));
  return {span, std::move(result)};
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
  if (const auto* s = statement.get<ast::Print>()) return check_print(*s, span, scope);
  if (const auto* s = statement.get<ast::If>()) {
    Expr condition = check_condition(s->condition, "if", scope);
    return check_if(*s, span, std::move(condition), scope);
  }
  if (const auto* s = statement.get<ast::While>()) return check_while(*s, span, scope);
  if (const auto* s = statement.get<ast::Every>()) {
    if (scope.place != Place::Step && scope.place != Place::Hook) {
      scope.cx.report(diag::wrong_place(span, "`every` stands in steps and hooks"));
    }
    Expr period = check_as(s->period, Type::of(Kind::Period), scope, "the period");
    const auto* written = period.get<node::Quantity>();
    // After a time every rank, and every run, would be at another step.
    if (written != nullptr && written->measure == host::Measure::Seconds) {
      scope.cx.report(diag::wrong_type(period.span, "`every` counts steps or epochs, and this is a time")
                          .help("write it as `100 steps` or `2 epochs`"));
    } else if (written != nullptr && written->measure == host::Measure::Epochs &&
               written->value != std::floor(written->value)) {
      scope.cx.report(diag::out_of_range(
          period.span, "`every` counts whole epochs, and this is " + scope.cx.source_text(period.span)));
    } else if (written != nullptr && written->value < 1) {
      scope.cx.report(
          diag::out_of_range(period.span, "`every` counts from 1, and this is " + scope.cx.source_text(period.span)));
    }
    return {span, stmt::Every{scope.cx.keep(std::move(period)), check_branch(s->body, scope)}};
  }
  // No branch: what is assigned in it is known behind it.
  if (const auto* s = statement.get<ast::NoGrad>()) return {span, stmt::NoGrad{check_body(s->body, scope)}};
  if (const auto* s = statement.get<ast::ErrorStmt>()) {
    for (const ast::Name& name : s->names) {
      if (!outer_local(name.text, scope)) scope.declare(name.text, Type::error());
    }
  }
  if (statement.get<ast::Yield>() != nullptr)
    scope.cx.report(diag::wrong_place(span, "`yield` stands at the end of the body of a `scan`"));
  if (const auto* s = statement.get<ast::Backward>()) return check_backward(*s, span, scope);
  return {span, stmt::Error{}};
}

}  // namespace

namespace {

/// A mistake in the body of a `scan` may be one of what it begins with, and then all that is computed of that goes wrong.
void forget_carried(Scope& scope) {
  for (const auto& [name, local] : scope.frames[scope.frames.size() - 2]) scope.local(local).type = Type::error();
}

}  // namespace

Body check_body(const ast::Body& body, Scope& scope) {
  Body typed;
  const bool in_scan = std::exchange(scope.in_scan, false);
  Body* const outer = std::exchange(scope.hoisted, &typed);
  for (const ast::Stmt& statement : body) {
    if (scope.cx.sink->is_full()) break;
    const size_t errors = scope.cx.sink->error_count();
    const auto* yield = statement.get<ast::Yield>();
    if (yield != nullptr && in_scan && &statement == &body.back()) {
      Expr value = check_expr(yield->value, scope);
      if (value.type.is_error()) {
        typed.push_back({statement.span, stmt::Error{}});
      } else {
        typed.push_back({statement.span, stmt::Yield{scope.cx.keep(std::move(value))}});
      }
    } else {
      typed.push_back(check_stmt(statement, scope));
    }
    if (in_scan && scope.cx.sink->error_count() > errors) forget_carried(scope);
    // Behind what may leave, a loop may have fewer rounds.
    if (!scope.rounds.empty()) {
      Find<ast::Return> leaves;
      leaves(statement);
      if (leaves.found) scope.rounds.clear();
    }
  }
  scope.hoisted = outer;
  // The graph of a step may go after its last update.
  stmt::Minimize* last = nullptr;
  for (Stmt& statement : typed) {
    if (auto* update = statement.get<stmt::Minimize>()) last = update;
  }
  if (last != nullptr && scope.loop_depth == 0) last->is_last = true;
  return typed;
}

}  // namespace ltr::check
