// Functions that another library would call by their names: here they are steps, hooks or members.

#include "dsl/ast/walk.h"
#include "dsl/check/declarations/declarations.h"
#include "dsl/check/declarations/hook.h"
#include "dsl/diagnostics/suggest.h"
#include "runtime/tables/roles.h"

namespace ltr::check {

namespace {

/// Whether code calls, or hands on, what has that name.
struct FindUse {
  const std::string& name;
  bool found = false;

  void operator()(const auto& node) {
    if (!found) ast::for_each_child(node, *this);
  }
  void operator()(const ast::Expr& expr) {
    const auto* ref = expr.get<ast::NameRef>();
    const auto* field = expr.get<ast::Field>();
    found = found || (ref != nullptr && ref->name.text == name) || (field != nullptr && field->name.text == name);
    if (!found) ast::for_each_child(expr, *this);
  }
};

/// `val` of `validation_step`; empty if it is none.
std::string role_of(const std::string& method) {
  constexpr std::string_view kEnd = "_step";
  if (!method.ends_with(kEnd)) return "";
  const std::string word = method.substr(0, method.size() - kEnd.size());
  const std::string role(diagnostics::renamed(word).value_or(word));
  return is_role(role) ? role : "";
}

}  // namespace

void take_lost_members(const ast::ErrorItem& lost, ObjectInfo& object) {
  for (const ast::Name& name : lost.names) object.members[name.text] = {Type::error(), MemberKind::Let, name.span};
}

bool report_foreign_method(const ast::Fn& fn, const ObjectInfo& object, Context& cx) {
  const std::string& name = fn.name.text;
  const std::string hook(diagnostics::renamed(name).value_or(name));
  const bool is_hook = find_hook(hook) != nullptr;
  if (object.kind == Kind::CallbackValue && fn.params.empty() && is_hook) {
    cx.report(diag::wrong_place(fn.name.span, "`" + name + "` is a hook, and no function").help("`on {} { … }`", hook));
    return true;
  }
  const std::string role = role_of(name);
  const bool is_optimizer = name == "configure_optimizers";
  if (object.kind != Kind::Model || (role.empty() && !is_optimizer && hook == name)) return false;
  if (role.empty() && !is_optimizer && !is_hook) return false;
  FindUse use{name};
  ast::for_each_child(cx.graph.modules[object.module].ast, use);
  if (use.found) return false;
  if (!role.empty())
    cx.report(diag::wrong_place(fn.name.span, "`" + name + "` is a step, and no function")
                  .help("`step {}(…) { … {} }`", role, role == kTrainRole ? "minimize loss" : "log loss = …"));
  else if (is_optimizer)
    cx.report(diag::wrong_place(fn.name.span, "`" + name + "` is no function here")
                  .help("{}", std::string(*diagnostics::foreign_advice(name))));
  else
    cx.report(diag::wrong_place(fn.name.span, "`" + name + "` is a hook of callbacks, and no function of a model")
                  .help("beside the model: `callback NAME() for {} { on {} { … } }`", object.name, hook));
  return true;
}

}  // namespace ltr::check
