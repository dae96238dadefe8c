#include <algorithm>

#include "dsl/ast/walk.h"
#include "dsl/check/types/types.h"

namespace ltr::check {

namespace {

/// The constant that `value` is the name of.
const Symbol* constant_of(const ExprView& value, const Scope& scope) {
  if (!value.is<node::IntConst>() && !value.is<node::FloatConst>() && !value.is<node::StrConst>()) return nullptr;
  const Symbol* symbol = scope.cx.graph.find(scope.module, scope.cx.source_text(value.span));
  return symbol != nullptr && symbol->kind == SymbolKind::Const ? symbol : nullptr;
}

/// The parameter of the declaration around that `value` is the name of.
ParamInfo* param_of(const ExprView& value, const Scope& scope) {
  const auto* member = value.get<node::Member>();
  if (member == nullptr || !member->is_param || scope.owner == nullptr) return nullptr;
  if (!scope.cx.at(member->object).is<node::Self>()) return nullptr;
  std::vector<ParamInfo>& params = scope.owner->params;
  const auto found =
      std::find_if(params.begin(), params.end(), [&](const auto& one) { return one.name == member->name; });
  return found == params.end() ? nullptr : &*found;
}

/// Where a name was given its newest value above a place.
struct FindValue {
  std::string_view name;
  uint32_t before = 0;
  Span found;

  void take(const ast::Name& one, const ast::Expr& value) {
    if (one.text == name && value.span.begin > found.begin) found = value.span;
  }
  void operator()(const ast::Stmt& stmt) {
    if (stmt.span.begin > before) return;
    if (const auto* assign = stmt.get<ast::Assign>()) {
      const auto* target = assign->target.get<ast::NameRef>();
      if (target != nullptr && assign->value.span.end < before) take(target->name, assign->value);
    }
    ast::for_each_child(stmt, *this);
  }
  void operator()(const auto&) {}
};

/// Where a local was given the tensor that is wrong where it is used; empty if it is a param.
Span computed_at(const ExprView& value, const Scope& scope) {
  const auto* local = value.get<node::Local>();
  if (local == nullptr || !value.type.is_tensor() || scope.info == nullptr || scope.info->ast == nullptr) return {};
  FindValue find{local->name, value.span.begin, {}};
  for (const ast::Stmt& stmt : scope.info->ast->body) find(stmt);
  return find.found;
}

}  // namespace

void forget(const ExprView& value, diagnostics::Diagnostic& told, Scope& scope) {
  Context& cx = scope.cx;
  if (cx.is_trying) return;
  if (const auto* local = value.get<node::Local>()) {
    const Span computed = computed_at(value, scope);
    if (!computed.is_empty()) told.label(computed, "{}", cx.text(value.type));
    scope.local(local->local).type = Type::error();
  } else if (ParamInfo* param = param_of(value, scope)) {
    told.label(param->span, "declared here");
    param->type = Type::error();
  } else if (const auto* hparam = value.get<node::Hparam>()) {
    cx.program.hparams[cx.program.hparam_at.at(hparam->name)].type = Type::error();
  } else if (const Symbol* constant = constant_of(value, scope)) {
    const Span written = constant->decl->get<ast::Const>()->value.span;
    told.label(written, "the value of `{}`", constant->name);
    cx.declared.consts[constant->decl] = {Type::error(), written, node::Error{}};
  }
}

void forget_computed(const ExprView& value, Scope& scope) {
  if (!scope.cx.is_trying && !computed_at(value, scope).is_empty())
    scope.local(value.get<node::Local>()->local).type = Type::error();
}

}  // namespace ltr::check
