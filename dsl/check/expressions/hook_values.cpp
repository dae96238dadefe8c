#include <algorithm>
#include <set>

#include "dsl/check/declarations/declarations.h"
#include "dsl/check/declarations/hook.h"
#include "dsl/check/experiment/parts.h"
#include "dsl/check/expressions/expressions.h"

namespace ltr::check {

namespace {

/// The type without what only its declaration knows: its binders and params.
Type seen_from_outside(Type type, Context& cx) {
  for (Dim& dim : type.dims) {
    if (dim.group == 0 && !dim.size.constant()) dim.size = cx.program.atoms.unknown();
  }
  for (TypeField& field : type.fields) field.type = seen_from_outside(field.type, cx);
  return type;
}

/// One type for both, their sizes where they are equal; nothing where they differ in more.
std::optional<Type> common(const Type& left, const Type& right, Context& cx) {
  if (left.kind != right.kind || left.element != right.element || left.dims.size() != right.dims.size())
    return std::nullopt;
  Type type = left;
  for (size_t i = 0; i < type.dims.size(); ++i) {
    if (left.dims[i].size != right.dims[i].size) type.dims[i].size = cx.program.atoms.unknown();
  }
  return type;
}

/// The data that the program declares or imports.
std::vector<const ObjectInfo*> declared_data(Context& cx) {
  std::vector<const ObjectInfo*> list;
  for (const resolve::Module& module : cx.graph.modules) {
    if (module.is_library) continue;
    for (const auto& [name, symbol] : module.symbols) {
      if (symbol.kind != SymbolKind::Data) continue;
      ObjectInfo& data = object_of(cx, symbol);
      complete(cx, data);
      list.push_back(&data);
    }
  }
  return list;
}

/// What experiments wire to the model of `owner`, or where it has none list it with; empty if none does, as in a file that
/// others import.
std::set<const ObjectInfo*> wired_data(const ObjectInfo& owner, Scope& scope) {
  std::set<const ObjectInfo*> wired;
  for (const ExperimentParts& parts : parts_of_experiments(scope)) {
    const bool is_there = owner.model != nullptr ? parts.model == owner.model : parts.callbacks.contains(&owner);
    if (is_there && parts.data != nullptr) wired.insert(parts.data);
  }
  return wired;
}

/// Whether the data has what the steps of the model want: one that has not is wired to another one, or is E0502 there.
bool may_feed(const ObjectInfo& data, const ObjectInfo& model) {
  const auto step = model.fns.find("train");
  if (step == model.fns.end() || step->second->role != FnRole::Step) return true;
  return std::all_of(step->second->params.begin(), step->second->params.end(), [&](const ParamInfo& param) {
    return param.initial != nullptr || std::any_of(data.batch.fields.begin(), data.batch.fields.end(),
                                                   [&](const TypeField& field) { return field.name == param.name; });
  });
}

}  // namespace

bool hook_brings(std::string_view name, const Scope& scope) {
  const Hook* hook = scope.place == Place::Hook && scope.info != nullptr ? find_hook(scope.info->name) : nullptr;
  return hook != nullptr && hook->brings(name);
}

Expr hook_batch_field(const ast::Name& field, Span span, Scope& scope) {
  Context& cx = scope.cx;
  std::optional<Type> type;
  std::vector<std::string> known;
  bool is_damaged = false;
  const ObjectInfo* model = scope.owner->model;
  const std::set<const ObjectInfo*> wired = wired_data(*scope.owner, scope);
  for (const ObjectInfo* data : declared_data(cx)) {
    if (!wired.empty() && !wired.contains(data)) continue;
    if (model != nullptr && !data->is_damaged && !may_feed(*data, *model)) continue;
    is_damaged = is_damaged || data->is_damaged;
    for (const TypeField& one : data->batch.fields) {
      if (std::find(known.begin(), known.end(), one.name) == known.end()) known.push_back(one.name);
      if (one.name != field.text) continue;
      const Type seen = seen_from_outside(one.type, cx);
      if (seen.is_error()) return error_at(span);
      const auto both = type ? common(*type, seen, cx) : seen;
      if (!both) {
        cx.report(diag::wrong_type(field.span, "`batch." + field.text + "` is " + cx.text(*type) + " in one data and " +
                                                   cx.text(seen) + " in another one"));
        return error_at(span);
      }
      type = *both;
    }
  }
  if (type) return {std::move(*type), span, node::Context{"batch." + field.text}};
  if (is_damaged) return error_at(span);
  diagnostics::Diagnostic diagnostic = diag::unknown_field(field.span, "the batch", field.text);
  if (!did_you_mean(diagnostic, field.text, field.span, known)) note_known(diagnostic, known);
  cx.report(std::move(diagnostic));
  return error_at(span);
}

Expr hook_output(Span span, Scope& scope) {
  Context& cx = scope.cx;
  const ObjectInfo* model = scope.owner->model;
  if (model == nullptr) {
    cx.report(diag::unknown_name(span, "output")
                  .note("it is what `step predict` of a model returns")
                  .help("say which model: `callback {} for MODEL`", scope.owner->name));
    return error_at(span);
  }
  const auto step = model->fns.find("predict");
  if (step == model->fns.end() || step->second->role != FnRole::Step) {
    if (!model->is_damaged)
      cx.report(diag::unknown_name(span, "output").note("`{}` has no `step predict`", model->name));
    return error_at(span);
  }
  Type type = seen_from_outside(step->second->result, cx);
  if (type.is_error()) return error_at(span);
  return {std::move(type), span, node::Context{"output"}};
}

}  // namespace ltr::check
