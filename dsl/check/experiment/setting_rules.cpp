#include "dsl/check/declarations/declarations.h"
#include "dsl/check/experiment/wired.h"
#include "dsl/check/expressions/expressions.h"
#include "dsl/check/types/types.h"
#include "dsl/check/walk.h"

namespace ltr::check {

namespace {

/// Its params as what they are to a model: those of the data that is wired to it.
Expr as_data(Expr expr, Context& cx) {
  const auto* member = expr.get<node::Member>();
  if (member != nullptr && member->is_param && cx.at(member->object).is<node::Self>())
    return {std::move(expr.type), expr.span, node::DataMember{member->name, true}};
  return with_children(std::move(expr), [&](ExprId child) { return cx.keep(as_data(cx.at(child), cx)); });
}

/// The options among the params that a rule names, and the rule of what they hold.
Expr of_values(Expr rule, ExprIds& options, Context& cx) {
  const auto* member = rule.get<node::Member>();
  if (member != nullptr && member->is_param && rule.type.kind == Kind::Option) {
    const Type held = rule.type.fields[0].type;
    const Span span = rule.span;
    options.push_back(cx.keep(std::move(rule)));
    return {held, span, node::Convert{options.back()}};
  }
  return with_children(std::move(rule), [&](ExprId child) { return cx.keep(of_values(cx.at(child), options, cx)); });
}

/// An option that is `none` breaks no rule.
Expr unless_none(Expr rule, Context& cx) {
  ExprIds options;
  const Span span = rule.span;
  const Type truth = Type::of(Kind::Bool);
  Expr asked = of_values(std::move(rule), options, cx);
  for (const ExprId option : options) {
    const ExprId none = cx.keep({Type::of(Kind::None), span, node::NoneConst{}});
    const ExprId is_none = cx.keep({truth, span, node::Equal{option, none}});
    asked = {truth, span, node::Or{is_none, cx.keep(std::move(asked))}};
  }
  return asked;
}

/// The scope of what rests on the params of `object`.
struct Params {
  Params(Context& cx, ObjectInfo& object)
      : scope{.cx = cx, .module = object.module, .place = Place::Const, .owner = &object, .locals = locals} {}
  std::vector<Local> locals;
  Scope scope;
};

std::vector<Obligation> rules_of(Context& cx, ObjectInfo& object) {
  std::vector<Obligation> rules;
  Params params(cx, object);
  for (const Requirement& requirement : object.requirements) {
    if (requirement.is_size && !requirement.is_window) continue;
    Obligation rule;
    rule.text = requirement.text;
    rule.fate = Fate::AtStart;
    rule.span = requirement.origin;
    rule.use = requirement.use;
    auto condition = requirement.kind == Requirement::Kind::Holds
                         ? requirement.rule
                         : condition_of(requirement, requirement.origin, params.scope);
    if (!condition) continue;
    rule.condition = cx.keep(unless_none(std::move(*condition), cx));
    rules.push_back(std::move(rule));
  }
  return rules;
}

/// Sizes of a step's params against those of the fields that the data delivers for them.
void add_field_rules(Context& cx, const FnInfo& fn, const StepBinding& step, ObjectInfo& model, ObjectInfo& data,
                     std::vector<Obligation>& rules) {
  Params own(cx, model), delivered(cx, data);
  for (size_t i = 0; i < fn.params.size() && i < step.fields.size(); ++i) {
    if (step.fields[i] < 0) continue;
    const std::vector<Dim>& wanted = fn.params[i].type.dims;
    const std::vector<Dim>& there = data.batch.fields[size_t(step.fields[i])].type.dims;
    for (size_t axis = 0; axis < wanted.size() && wanted.size() == there.size(); ++axis) {
      if (wanted[axis].group != 0 || there[axis].group != 0) break;
      const Polynomial &left = wanted[axis].size, &right = there[axis].size;
      if (left.constant() && right.constant()) continue;
      auto mine = expr_of(left, own.scope, fn.params[i].span);
      const auto theirs = expr_of(right, delivered.scope, fn.params[i].span);
      if (!mine || !theirs) continue;  // binders: any size will do
      Obligation rule;
      rule.text = cx.text(left) + " == " + cx.text(right);
      rule.fate = Fate::AtStart;
      rule.span = fn.params[i].span;
      rule.needs_data = true;
      rule.condition = cx.keep(host_op(host::Op::Equal, {cx.keep(std::move(*mine)), cx.keep(as_data(*theirs, cx))},
                                       Type::of(Kind::Bool), rule.span));
      rules.push_back(std::move(rule));
    }
  }
}

}  // namespace

void add_setting_rules(Context& cx, Experiment& experiment) {
  ObjectInfo& data = *find_object(cx, Kind::Data, experiment.data);
  ObjectInfo& model = *find_object(cx, Kind::Model, experiment.model);
  experiment.data_rules = rules_of(cx, data);
  experiment.model_rules = rules_of(cx, model);
  for (const StepBinding& step : experiment.steps) {
    add_field_rules(cx, *model.fns[step.name], step, model, data, experiment.model_rules);
  }
}

}  // namespace ltr::check
