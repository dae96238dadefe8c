#include <algorithm>

#include "dsl/check/experiment/wired.h"
#include "dsl/check/expressions/expressions.h"
#include "dsl/check/types/types.h"

namespace ltr::check {

namespace {

/// What the sizes of an object's params are, given these arguments, beside those in `binding`.
void bind_all(const std::vector<ParamInfo>& params, const std::vector<Expr>& given, Binding& binding, Context& cx) {
  for (size_t i = 0; i < params.size() && i < given.size(); ++i) bind_sizes(params[i].type, given[i], binding, cx);
}

std::vector<Expr> values_of(const ExprIds& ids, const Context& cx) {
  std::vector<Expr> values;
  for (const ExprId id : ids) values.push_back(cx.at(id));
  return values;
}

}  // namespace

void check_hook_sizes(const Experiment& experiment, Scope& scope) {
  Context& cx = scope.cx;
  const ObjectInfo* model = find_object(cx, Kind::Model, experiment.model);
  if (model == nullptr || model->is_damaged) return;
  for (const Expr& one : experiment.callbacks) {
    const auto* call = one.get<node::Call>();
    const auto listed = call == nullptr || call->op != library::Id::None
                            ? cx.program.callbacks.end()
                            : std::ranges::find(cx.program.callbacks, call->name, &Object::name);
    if (listed == cx.program.callbacks.end()) continue;
    const ObjectInfo* callback = find_object(cx, Kind::CallbackValue, uint32_t(listed - cx.program.callbacks.begin()));
    if (callback == nullptr || callback->is_damaged) continue;
    Binding binding;
    if (listed->model == model->name) bind_all(model->params, values_of(experiment.model_arguments, cx), binding, cx);
    ExprIds ids;
    for (const node::NamedArg& arg : call->args) ids.push_back(arg.value);
    const std::vector<Expr> given = values_of(ids, cx);
    bind_all(callback->params, given, binding, cx);
    put_requirements(callback->requirements, binding, {callback->params, given}, one.span, scope);
  }
}

}  // namespace ltr::check
