#include <algorithm>

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

}  // namespace

void forget(const ExprView& value, diagnostics::Diagnostic& told, Scope& scope) {
  Context& cx = scope.cx;
  if (cx.is_trying) return;
  if (const auto* local = value.get<node::Local>()) {
    scope.local(local->local).type = Type::error();
  } else if (ParamInfo* param = param_of(value, scope)) {
    told.label(param->span, "declared here");
    param->type = Type::error();
  } else if (const auto* hparam = value.get<node::Hparam>()) {
    cx.program.hparams[cx.hparams.at(hparam->name)].type = Type::error();
  } else if (const Symbol* constant = constant_of(value, scope)) {
    const Span written = constant->decl->get<ast::Const>()->value.span;
    told.label(written, "the value of `{}`", constant->name);
    cx.consts[constant->decl] = {Type::error(), written, node::Error{}};
  }
}

}  // namespace ltr::check
