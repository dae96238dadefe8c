#include <algorithm>

#include "dsl/ast/walk.h"
#include "dsl/check/expressions/expressions.h"

namespace ltr::check {

namespace {

/// Whether an expression names a param that is no size.
struct ValueParams {
  const std::vector<ParamInfo>& params;
  bool found = false;

  void operator()(const auto& node) { ast::for_each_child(node, *this); }
  void operator()(const ast::Expr& expr) {
    if (const auto* ref = expr.get<ast::NameRef>()) {
      found = found || std::any_of(params.begin(), params.end(), [&](const ParamInfo& param) {
                return param.name == ref->name.text && param.type.kind != Kind::Int && !param.type.is_error();
              });
    }
    ast::for_each_child(expr, *this);
  }
};

/// What the value of a rule hangs on, from what is known first to what is known last.
enum class Rests { Constants, Start, Params, Run };

bool is_own_param(const Expr& expr) {
  return expr.kind == ExprKind::Member && expr.whole == 1 && expr.args[0].kind == ExprKind::Self;
}

Rests rests_on(const Expr& rule) {
  switch (rule.kind) {
    case ExprKind::IntConst:
    case ExprKind::FloatConst:
    case ExprKind::BoolConst:
    case ExprKind::StrConst:
      return Rests::Constants;
    case ExprKind::Hparam:
    case ExprKind::DataMember:
      return Rests::Start;
    case ExprKind::Host:
    case ExprKind::Convert:
    case ExprKind::Not:
    case ExprKind::And:
    case ExprKind::Or:
    case ExprKind::Equal:
    case ExprKind::In:
    case ExprKind::Range:
    case ExprKind::List: {
      Rests latest = Rests::Constants;
      for (const Expr& part : rule.args) latest = std::max(latest, rests_on(part));
      return latest;
    }
    default:
      return is_own_param(rule) ? Rests::Params : Rests::Run;
  }
}

bool needs_data(const Expr& rule) {
  return rule.kind == ExprKind::DataMember || std::any_of(rule.args.begin(), rule.args.end(), needs_data);
}

/// `rule` with what was given for the params that it names; `place` becomes that of the last of them.
Expr with_arguments(Expr rule, const Arguments& given, Span& place) {
  if (rule.kind == ExprKind::Local || is_own_param(rule)) {
    for (size_t i = 0; i < given.params.size(); ++i) {
      if (given.params[i].name != rule.name) continue;
      if (!given.values[i].span.is_empty()) place = given.values[i].span;
      return given.values[i];
    }
  }
  if (rule.kind == ExprKind::Self && given.receiver != nullptr) return *given.receiver;
  for (Expr& part : rule.args) part = with_arguments(std::move(part), given, place);
  return rule;
}

}  // namespace

std::optional<Requirement> value_requirement(const ast::Expr& clause, Scope& scope) {
  ValueParams names{scope.info->params};
  names(clause);
  if (!names.found) return std::nullopt;
  std::vector<Local> locals;
  Scope inner{.cx = scope.cx, .module = scope.module, .place = Place::Fn, .info = scope.info, .owner = scope.owner, .locals = locals};
  inner.dim_names = scope.dim_names;
  for (const ParamInfo& param : scope.info->params) inner.declare(param.name, param.type);
  Requirement requirement;
  requirement.kind = Requirement::Kind::Holds;
  requirement.rule = check_as(clause, Type::of(Kind::Bool), inner, "the rule");
  requirement.text = scope.cx.source_text(clause.span);
  requirement.origin = clause.span;
  requirement.is_where = true;
  return requirement;
}

void require_value(Requirement requirement, Span use, Scope& scope) {
  Context& cx = scope.cx;
  const Expr& rule = *requirement.rule;
  Obligation obligation;
  obligation.text = requirement.text;
  obligation.span = requirement.origin;
  switch (rests_on(rule)) {
    case Rests::Constants: {
      const auto holds = evaluate(rule, cx.program);
      if (holds && holds->whole == 0) {
        cx.report(diag::where_not_satisfied(use, requirement.text, "it is given " + cx.source_text(use))
                      .label(requirement.origin, "required here"));
        return;
      }
      obligation.fate = Fate::Proven;
      obligation.why = "follows from the values";
      break;
    }
    case Rests::Params:
      if (scope.requirements != nullptr) scope.requirements->push_back(std::move(requirement));
      return;
    case Rests::Start:
      obligation.fate = Fate::AtStart;
      obligation.needs_data = needs_data(rule);
      obligation.why = obligation.needs_data ? "rests on the data" : "rests on hparams";
      obligation.condition = rule;
      cx.program.obligations.push_back(std::move(obligation));
      return;
    case Rests::Run:
      obligation.fate = Fate::FirstBatch;
      obligation.why = "rests on a value that only run time knows";
      break;
  }
  if (!cx.graph.modules[scope.module].is_library) cx.program.obligations.push_back(std::move(obligation));
}

void put_requirements(const std::vector<Requirement>& requirements,
                      const Binding& binding,
                      const Arguments& given,
                      Span use,
                      Scope& scope) {
  for (Requirement requirement : requirements) {
    requirement.left = scope.cx.program.atoms.substitute(requirement.left, binding.dims);
    requirement.right = scope.cx.program.atoms.substitute(requirement.right, binding.dims);
    Span place = use;
    if (requirement.rule) requirement.rule = with_arguments(std::move(*requirement.rule), given, place);
    require(std::move(requirement), place, scope);
  }
}

}  // namespace ltr::check
