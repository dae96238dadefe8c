#include "dsl/check/expressions/declared_at.h"

#include "dsl/check/expressions/origins.h"

namespace ltr::check {

namespace {

/// The one field of this name that a type of the file declares; null if there are none, or several.
const ast::FieldType* declared_field(const std::string& name, const Scope& scope) {
  const ast::FieldType* found = nullptr;
  for (const ast::Decl& decl : scope.cx.graph.modules[scope.module].ast.decls) {
    const auto* named = decl.get<ast::TypeName>();
    const auto* record = named != nullptr ? named->type.get<ast::RecordType>() : nullptr;
    if (record == nullptr) continue;
    for (const ast::FieldType& field : record->fields) {
      if (field.name.text != name) continue;
      if (found != nullptr) return nullptr;
      found = &field;
    }
  }
  return found;
}

/// The function of the declaration around that is called by this name; null if there is none.
const FnInfo* called_fn(const std::string& name, const Scope& scope) {
  if (scope.owner != nullptr) {
    if (const auto fn = scope.owner->fns.find(name); fn != scope.owner->fns.end()) return &*fn->second;
  }
  return nullptr;
}

/// What a value is the call of, also where a local holds it, or numbers are added to it and the like.
const FnInfo* maker(const ExprView& value, const Scope& scope) {
  if (const auto* op = value.get<node::Op>()) {
    for (const ExprId id : op->args) {
      const ExprView arg = scope.cx.at(id);
      const bool is_like = arg.type.is_tensor() && value.type.is_tensor() && arg.type.dims == value.type.dims;
      const FnInfo* fn = is_like ? maker(arg, scope) : nullptr;
      if (fn != nullptr) return fn;
    }
    return nullptr;
  }
  if (const auto* call = value.get<node::CallMethod>())
    return scope.cx.at(call->object).is<node::Self>() ? called_fn(scope.cx.program.fns[call->fn].name, scope) : nullptr;
  const Assigned assigned = find_assigned(value, scope);
  const auto* call = assigned.value != nullptr && !assigned.part ? assigned.value->get<ast::Call>() : nullptr;
  const auto* callee = call != nullptr ? call->callee->get<ast::NameRef>() : nullptr;
  return callee != nullptr ? called_fn(callee->name.text, scope) : nullptr;
}

}  // namespace

void label_declared_field(diagnostics::Diagnostic& diagnostic, const std::string& name, const Scope& scope) {
  const ast::FieldType* field = declared_field(name, scope);
  if (field == nullptr) return;
  diagnostic.tie(diagnostics::Tie::Declared, field->type->span, "`{}` is declared {} here", name,
                 scope.cx.source_text(field->type->span));
}

void label_declared(diagnostics::Diagnostic& diagnostic, const ExprView& value, const Scope& scope) {
  const Context& cx = scope.cx;
  if (const auto* field = value.get<node::RecordField>()) return label_declared_field(diagnostic, field->name, scope);
  if (const auto* member = value.get<node::Member>()) {
    if (scope.owner == nullptr || !cx.at(member->object).is<node::Self>()) return;
    const auto info = scope.owner->members.find(member->name);
    const bool is_state = info != scope.owner->members.end() && info->second.kind == MemberKind::State;
    if (is_state)
      diagnostic.tie(diagnostics::Tie::Declared, info->second.span, "`{}` is declared {} here", member->name,
                     cx.text(info->second.type));
    return;
  }
  const FnInfo* fn = maker(value, scope);
  if (fn != nullptr && fn->ast != nullptr && fn->ast->result && fn->module == scope.module)
    diagnostic.tie(diagnostics::Tie::Gives, fn->ast->result->span, "`{}` gives {}", fn->name,
                   cx.source_text(fn->ast->result->span));
}

}  // namespace ltr::check
