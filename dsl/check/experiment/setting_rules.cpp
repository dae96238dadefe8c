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
    rule.condition = cx.keep(std::move(*condition));
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
