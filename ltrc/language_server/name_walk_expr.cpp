#include <algorithm>

#include "ltrc/language_server/name_walk.h"
#include "runtime/tables/roles.h"

namespace ltr::language_server {

std::optional<EntityId> NameWalk::written_field(const ast::Expr& base, const std::string& name) const {
  const auto* ref = base.get<ast::NameRef>();
  const auto id = ref != nullptr ? find_local(ref->name.text) : std::nullopt;
  const ast::TypeExpr* written = id ? index_.entity(*id).written : nullptr;
  const auto* record = written != nullptr ? written->get<ast::RecordType>() : nullptr;
  if (record == nullptr) return std::nullopt;
  for (const ast::FieldType& field : record->fields) {
    if (field.name.text == name) return index_.find(field.name.span);
  }
  return std::nullopt;
}

EntityId NameWalk::param(const ast::Param& param, uint32_t module, const std::string& container) {
  return index_.add({.kind = EntityKind::Param,
                     .name = param.name.text,
                     .span = param.name.span,
                     .whole = param.span,
                     .module = module,
                     .container = container,
                     .written = &param.type});
}

std::optional<EntityId> NameWalk::member(const check::Type& type, const std::string& name) {
  for (const EntityId id : index_.members_of(type)) {
    if (index_.entity(id).name == name) return id;
  }
  const resolve::Symbol* symbol = symbol_of(type, compilation_);
  const auto declared = symbol != nullptr ? index_.find(symbol->span) : std::nullopt;
  const std::vector<ast::Param>* params = declared ? index_.entity(*declared).params : nullptr;
  if (params == nullptr) return std::nullopt;
  const auto found = std::ranges::find(*params, name, [](const ast::Param& param) { return param.name.text; });
  return found != params->end() ? std::optional(param(*found, symbol->module, symbol->name)) : std::nullopt;
}

std::optional<EntityId> NameWalk::member(const ast::Expr& base, const std::string& name) {
  if (const auto field = written_field(base, name)) return field;
  const auto* ref = base.get<ast::NameRef>();
  if (ref != nullptr && !find_local(ref->name.text)) {
    if (const auto alias = module_.aliases.find(ref->name.text); alias != module_.aliases.end())
      return of_symbols(graph_.modules[alias->second].symbols, name);
    if (is_role(ref->name.text)) return find_series(ref->name.text, name);
  }
  // Of one of several streams: `val.clean.loss`.
  if (const auto* stream = base.get<ast::Field>()) {
    const auto* role = stream->base->get<ast::NameRef>();
    if (role != nullptr && is_role(role->name.text) && !find_local(role->name.text))
      return find_series(role->name.text, name);
  }
  const TypedPlace* typed = index_.typed(base.span);
  if (typed == nullptr && ref != nullptr && ref->name.text == "data") {
    if (const auto found = member(data_, name)) return found;
  }
  if (typed != nullptr) {
    if (const auto found = member(*typed->type, name)) return found;
    if (typed->type->kind == check::Kind::Stream) return of_symbols(graph_.stages, name);
    if (typed->type->is_tensor() || typed->type->is_host_number()) {
      const auto method = graph_.prelude.find(name);
      const resolve::Symbol* own = graph_.find(number_, name);
      if (own != nullptr && own->fn != nullptr) return index_.find(own->span);
      if (method != graph_.prelude.end() && method->second.fn != nullptr) return index_.find(method->second.span);
    }
    return std::nullopt;
  }
  // What the base is worth could not be told; a function of the library is the best guess.
  const auto method = graph_.prelude.find(name);
  const bool is_function = method != graph_.prelude.end() && method->second.fn != nullptr;
  return is_function ? index_.find(method->second.span) : std::nullopt;
}

std::optional<EntityId> NameWalk::callee(const ast::Expr& expr) {
  if (const auto* ref = expr.get<ast::NameRef>()) return find(ref->name.text);
  if (const auto* field = expr.get<ast::Field>()) return member(*field->base, field->name.text);
  return std::nullopt;
}

void NameWalk::arguments(const ast::Call& call) {
  const auto id = callee(*call.callee);
  const std::vector<ast::Param>* known = id ? index_.entity(*id).params : nullptr;
  const uint32_t module = id ? index_.entity(*id).module : 0;
  const std::string container = id ? index_.entity(*id).name : "";
  for (const ast::Argument& argument : call.arguments) {
    if (argument.name) {
      bool is_known = false;
      for (const ast::Param& param : known != nullptr ? *known : std::vector<ast::Param>{}) {
        if (param.name.text != argument.name->text) continue;
        use(*argument.name, this->param(param, module, container));
        is_known = true;
      }
      if (!is_known) plain(argument.name->span, PlainKind::Setting);
    }
    (*this)(*argument.value);
  }
}

void NameWalk::operator()(const ast::Expr& expr) {
  if (const auto* ref = expr.get<ast::NameRef>()) {
    if (const auto id = find(ref->name.text)) return use(ref->name, *id);
    if (const auto id = find_alias(ref->name.text)) use(ref->name, *id);
    return;
  }
  if (const auto* field = expr.get<ast::Field>()) {
    const auto id = member(*field->base, field->name.text);
    const auto* base = field->base->get<ast::NameRef>();
    const bool is_series = id && index_.entity(*id).kind == EntityKind::Series;
    if (is_series && base != nullptr) {
      plain(base->name.span, PlainKind::Setting);
    } else {
      (*this)(*field->base);
    }
    if (id) {
      use(field->name, *id);
    } else {
      plain(field->name.span, PlainKind::Field);
    }
    return;
  }
  if (const auto* call = expr.get<ast::Call>()) {
    (*this)(*call->callee);
    return arguments(*call);
  }
  if (const auto* record = expr.get<ast::Record>()) {
    for (const ast::RecordField& field : record->fields) plain(field.name.span, PlainKind::Field);
    return children(expr);
  }
  const Span outer = region_;
  if (const auto* lambda = expr.get<ast::Lambda>()) {
    region_ = expr.span;
    frames_.emplace_back();
    declare(EntityKind::Param, lambda->param, lambda->param.span);
    (*this)(*lambda->value);
  } else if (const auto* list = expr.get<ast::Comprehension>()) {
    (*this)(*list->range);
    region_ = expr.span;
    frames_.emplace_back();
    declare(EntityKind::Local, list->variable, list->variable.span);
    (*this)(*list->element);
  } else if (const auto* scan = expr.get<ast::Scan>()) {
    (*this)(*scan->sequence);
    (*this)(*scan->dim);
    region_ = expr.span;
    frames_.emplace_back();
    for (const ast::ScanCarry& carry : scan->carried) (*this)(*carry.initial);
    declare(EntityKind::Local, scan->element, scan->element.span);
    for (const ast::ScanCarry& carry : scan->carried) declare(EntityKind::Local, carry.name, carry.name.span);
    body(*scan->body, expr.span);
  } else {
    return children(expr);
  }
  frames_.pop_back();
  region_ = outer;
}

}  // namespace ltr::language_server
