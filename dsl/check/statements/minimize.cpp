#include <set>

#include "dsl/ast/walk.h"
#include "dsl/check/experiment/repeated_steps.h"
#include "dsl/check/expressions/origins.h"
#include "dsl/check/statements/statements.h"
#include "runtime/tables/roles.h"

namespace ltr::check {

namespace {

/// The locals with dims that a value is computed from.
struct FindVector {
  const Scope& scope;
  std::set<LocalId> found = {};

  void operator()(const ast::Expr& expr) {
    const auto* name = expr.get<ast::NameRef>();
    const auto local = name != nullptr ? scope.find_local(name->name.text) : std::nullopt;
    if (local && scope.locals[*local].type.is_tensor() && !scope.locals[*local].type.dims.empty()) found.insert(*local);
    // What a call makes of it may well be one number.
    if (expr.get<ast::Call>() == nullptr) ast::for_each_child(expr, *this);
  }
  void operator()(const auto& node) { ast::for_each_child(node, *this); }
};

/// Adds where the dims of a loss that is computed of other values come from: `loss = share * soft + hard`, of `hard`.
void label_vector(diagnostics::Diagnostic& diagnostic, const ExprView& loss, const Scope& scope) {
  const Assigned made = find_assigned(loss, scope);
  if (made.value == nullptr || made.part) return;
  FindVector find{scope};
  find(*made.value);
  if (find.found.size() != 1) return;
  const Local& local = scope.locals[*find.found.begin()];
  const Expr there{local.type, made.value->span, node::Local{*find.found.begin(), local.name}};
  const Assigned from = find_assigned(there, scope);
  if (from.value != nullptr && !from.part) diagnostic.label(from.value->span, "{}", scope.cx.text(local.type));
}

}  // namespace

Expr check_loss(const ast::Expr& expr, const char* verb, Scope& scope) {
  Context& cx = scope.cx;
  Expr loss = check_expr(expr, scope);
  const bool is_scalar = loss.type.is_tensor() && loss.type.dims.empty() && is_floating(loss.type.element);
  if (loss.type.is_error() || is_scalar) return loss;
  diagnostics::Diagnostic diagnostic = diag::loss_not_scalar(loss.span, cx.text(loss.type));
  if (loss.type.is_tensor() && is_floating(loss.type.element))
    diagnostic.help("take the mean: `{} mean({})`", verb, cx.source_text(loss.span));
  // `minimize(loss, opt)`
  const auto* pair = expr.get<ast::Tuple>();
  const bool names_optimizer = pair != nullptr && pair->elements.size() == 2 && loss.type.fields.size() == 2 &&
                               loss.type.fields[1].type.kind == Kind::Optimizer;
  if (names_optimizer) {
    const std::string said = cx.source_text(pair->elements[0].span) + " with " + cx.source_text(pair->elements[1].span);
    diagnostic.help("`{} {}`", verb, said).fix(loss.span, " " + said);
  }
  forget(loss, diagnostic, scope);
  if (loss.type.is_tensor() && !loss.type.dims.empty()) label_vector(diagnostic, loss, scope);
  cx.report(std::move(diagnostic));
  loss.type = Type::error();
  return loss;
}

namespace {

/// Whether two optimizers of a model name one member: then E0405 asks which of them is meant.
bool share_weights(const ObjectInfo& model, Context& cx) {
  std::set<std::string> owned;
  for (const Member& member : cx.program.models[model.index].members) {
    const auto* rule = member.kind == MemberKind::Optimizer ? member.value.get<node::Call>() : nullptr;
    if (rule == nullptr || rule->args.empty()) continue;
    std::set<std::string> own;
    const ExprView weights = cx.at(rule->args[0].value);
    if (const auto* list = weights.get<node::List>()) {
      for (const ExprId element : list->elements) own.insert(cx.source_text(cx.at(element).span));
    } else {
      own.insert(cx.source_text(weights.span));
    }
    for (const std::string& text : own) {
      if (!owned.insert(text).second) return true;
    }
  }
  return false;
}

/// E0409 of a test, where no model is around: it names the optimizer of one that it built.
diagnostics::Diagnostic test_names_none(Span span, const std::string& loss, const Scope& scope) {
  diagnostics::Diagnostic diagnostic = diag::which_optimizer(span, "a test says which optimizer makes the update");
  for (const auto& frame : scope.frames) {
    for (const auto& [name, local] : frame) {
      const Type& type = scope.locals[local].type;
      const ObjectInfo* model = type.kind == Kind::Model ? find_object(scope.cx, type.kind, type.decl) : nullptr;
      for (const auto& [member, info] : model != nullptr ? model->members : std::map<std::string, MemberInfo>()) {
        if (info.kind != MemberKind::Optimizer) continue;
        const std::string with = " with " + name + "." + member;
        return std::move(diagnostic.help("`minimize {}{}`", loss, with).fix({span.source, span.end, span.end}, with));
      }
    }
  }
  return std::move(diagnostic.help(
      "an optimizer is a member of a model: `m = MODEL(…)` above, and `minimize {} with m.OPTIMIZER`", loss));
}

}  // namespace

Stmt check_minimize(const ast::Stmt& statement, const ast::Minimize& minimize, Scope& scope) {
  Context& cx = scope.cx;
  if (scope.place != Place::Step && scope.place != Place::Test) {
    cx.report(diag::wrong_place(statement.span, "`minimize` stands in steps")
                  .help("a function returns the loss, and `step train` minimizes it"));
    return {statement.span, stmt::Error{}};
  }
  if (scope.place == Place::Step && scope.info->is_manual) {
    cx.report(diag::wrong_place(statement.span, "a manual step does not `minimize`")
                  .help("`opt.zero_grad()`, `backward loss`, `opt.step()`"));
    return {statement.span, stmt::Error{}};
  }
  if (scope.place == Place::Step && is_evaluating_role(scope.info->name)) {
    // Of a step that is a copy the place is where it is copied.
    const bool is_copy = scope.info->ast->name.span != scope.info->span;
    // The step that it is a copy of says it.
    if (is_copy && is_evaluating_role(scope.info->ast->name.text)) return {statement.span, stmt::Error{}};
    diagnostics::Diagnostic diagnostic =
        diag::minimize_in_evaluation(is_copy ? scope.info->span : statement.span, scope.info->name);
    if (is_copy)
      diagnostic.label(statement.span, "it does, as step {} of which it is a copy", scope.info->ast->name.text)
          .help("copy a step that evaluates, such as `step {} = val`, or write one of its own", scope.info->name);
    cx.report(std::move(diagnostic));
    return {statement.span, stmt::Error{}};
  }
  Expr loss = check_loss(minimize.loss, "minimize", scope);
  Expr optimizer;
  if (minimize.optimizer) {
    const Type wanted = Type::of(Kind::Optimizer);
    const auto* name = minimize.optimizer->get<ast::NameRef>();
    optimizer = name != nullptr ? check_name(*minimize.optimizer, name->name, scope, {.wanted = &wanted})
                                : check_expr(*minimize.optimizer, scope);
    if (!optimizer.type.is_error() && optimizer.type.kind != Kind::Optimizer) {
      diagnostics::Diagnostic diagnostic =
          diag::wrong_type(optimizer.span, "`with` names an optimizer, not " + cx.text(optimizer.type));
      if (is_made_of(optimizer.type, {Kind::Optimizer, Kind::List, Kind::Tuple}))
        diagnostic.help("one optimizer can own all of the weights: `SGD([a.weights, b.weights], lr = 0.1)`")
            .help("several move after one `backward` in `step train(…) manual { … }`");
      cx.report(std::move(diagnostic));
      optimizer.type = Type::error();
    }
  } else {
    std::vector<ast::Name> optimizers;
    if (scope.owner != nullptr) {
      for (const auto& [name, member] : scope.owner->members) {
        if (member.kind == MemberKind::Optimizer) optimizers.push_back({name, statement.span});
      }
    }
    if (optimizers.empty() && scope.place == Place::Test) {
      cx.report(test_names_none(statement.span, cx.source_text(minimize.loss.span), scope));
      return {statement.span, stmt::Error{}};
    }
    if (optimizers.empty()) {
      const bool may_be_there = scope.owner != nullptr && scope.owner->is_damaged;
      if (may_be_there) return {statement.span, stmt::Error{}};
      cx.report(diag::which_optimizer(statement.span, "the model has no optimizer")
                    .help("one of its own: `optimizer opt = Adam(net.weights, lr = 1e-3)`"));
      return {statement.span, stmt::Error{}};
    }
    if (optimizers.size() != 1 && share_weights(*scope.owner, cx)) return {statement.span, stmt::Error{}};
    if (optimizers.size() != 1) {
      cx.report(diag::which_optimizer(
                    statement.span, "the model has " + std::to_string(optimizers.size()) + " optimizers: say which one")
                    .help("`minimize {} with OPTIMIZER`", cx.source_text(minimize.loss.span)));
      return {statement.span, stmt::Error{}};
    }
    // A param of the step may have its name.
    const ast::Name& only = optimizers[0];
    const bool is_own = scope.owner != nullptr && scope.owner->members.contains(only.text);
    optimizer = is_own ? member_of_self(only.text, scope.owner->members.at(only.text).type, only.span, scope, false)
                       : check_name({}, only, scope);
  }
  const bool is_wrong = loss.type.is_error() || optimizer.type.is_error();
  if (is_wrong || (scope.place == Place::Test && report_repeated_test(optimizer, statement.span, cx)))
    return {statement.span, stmt::Error{}};
  return {statement.span, stmt::Minimize{.loss = cx.keep(std::move(loss)), .optimizer = cx.keep(std::move(optimizer))}};
}

}  // namespace ltr::check
