#include "dsl/check/declarations/declarations.h"
#include "dsl/check/declarations/hook.h"
#include "dsl/check/expressions/known.h"
#include "dsl/check/library/library_call.h"
#include "dsl/check/scope/places.h"
#include "dsl/diagnostics/suggest.h"
#include "dsl/resolve/library.h"

namespace ltr::check {

namespace {

bool is_brought(const PlaceName& name, const Scope& scope) {
  const bool in_hook = scope.place == Place::Hook;
  switch (name.reach) {
    case Reach::Steps: return in_hook || scope.place == Place::Step;
    case Reach::Settings:
      return in_hook || scope.place == Place::Step || scope.place == Place::Member || scope.place == Place::Experiment;
    case Reach::SomeHooks: {
      return hook_brings(name.name, scope);
    }
  }
  return false;
}

Type type_of_place_name(std::string_view text) {
  if (text == "int") return Type::host_int();
  if (text == "float") return Type::of(Kind::Float);
  if (text == "str") return Type::of(Kind::Str);
  if (text == "optimizer") return Type::of(Kind::Optimizer);
  return Type::tensor(Element::Float, {});
}

/// Names that a place brings: `epoch`, `rank` and so on; nothing if there is no such one here.
std::optional<Type> context_type(const std::string& name, const Scope& scope) {
  for (const PlaceName& candidate : kPlaceNames) {
    // What a batch and an output hold, data and model say: hook_values.cpp.
    if (name == "batch" || name == "output") continue;
    if (candidate.name == name && is_brought(candidate, scope)) return type_of_place_name(candidate.type);
  }
  return std::nullopt;
}

}  // namespace

Expr member_of_self(const std::string& name, Type type, Span span, Scope& scope, bool is_param) {
  return {std::move(type), span, node::Member{scope.cx.keep(self_expr(scope, span)), name, is_param}};
}

Expr check_symbol(const Symbol& symbol, Span span, Scope& scope) {
  Context& cx = scope.cx;
  switch (symbol.kind) {
    case SymbolKind::Hparam: {
      const bool is_allowed = scope.place == Place::Data || scope.place == Place::Experiment ||
                              scope.place == Place::Hparam || scope.place == Place::Test;
      if (!is_allowed && lacks_params(scope)) return error_at(span);
      if (!is_allowed) {
        cx.report(diag::unknown_name(span, symbol.name)
                      .label(symbol.span, "an hparam, which only data, topologies, experiments and tests see")
                      .help("add a parameter `{}` to this declaration, and give it the value where "
                            "it is used",
                            symbol.name));
        return error_at(span);
      }
      // Of its own file a default uses what is above it; of other files hparams come as they are needed.
      const bool is_below = symbol.module == scope.module && span.begin < symbol.span.begin;
      const bool is_late =
          scope.place == Place::Hparam && (is_below || cx.declared.defaults_in_work.contains(symbol.decl));
      if (const Hparam* hparam = is_late ? nullptr : hparam_of(cx, symbol))
        return {hparam->type, span, node::Hparam{symbol.name}};
      if (is_late) {
        cx.report(diag::unknown_name(span, symbol.name)
                      .label(symbol.span, "declared here")
                      .note("a default may use the hparams above it"));
      }
      return error_at(span);
    }
    case SymbolKind::Const: {
      const auto found = cx.declared.consts.find(symbol.decl);
      if (found != cx.declared.consts.end()) {
        Expr value = found->second;
        value.span = span;
        return value;
      }
      const auto* decl = symbol.decl->get<ast::Const>();
      if (!cx.declared.consts_in_work.insert(symbol.decl).second) {
        diagnostics::Diagnostic diagnostic = diag::recursion(span, symbol.name);
        diagnostic.message = "the value of `" + symbol.name + "` rests on itself";
        cx.report(std::move(diagnostic.label(symbol.span, "declared here")));
        return error_at(span);
      }
      std::vector<Local> locals;
      Scope inner{.cx = cx, .module = symbol.module, .place = Place::Const, .locals = locals};
      const Type declared = decl->type ? check_type(*decl->type, inner) : Type::error();
      Expr value = decl->type ? check_as(decl->value, declared, inner, "the value") : check_expr(decl->value, inner);
      check_draws_nothing(value, "a constant", cx);
      if (holds_options(declared) && !value.type.is_error() && value.type != declared)
        value = {declared, value.span, node::Convert{cx.keep(std::move(value))}};
      cx.declared.consts[symbol.decl] = value;
      value.span = span;
      return value;
    }
    case SymbolKind::Fn:
    case SymbolKind::Op: {
      const FnInfo& fn = fn_of(cx, symbol);
      Type type = Type::of(Kind::Function);
      type.name = symbol.name;
      type.module = symbol.module;
      return {std::move(type), span, node::FnValue{.fn = fn.index}};
    }
    case SymbolKind::Block:
    case SymbolKind::Model:
    case SymbolKind::Metric:
    case SymbolKind::Data: {
      diagnostics::Diagnostic diagnostic =
          diag::wrong_type(span, "`" + symbol.name + "` is a declaration, not a value");
      if (symbol.kind == SymbolKind::Data && scope.data != nullptr) {
        diagnostic.help("the data of the experiment is `data`").fix(span, "data");
      } else {
        diagnostic.help("build one: `{}(…)`", symbol.name);
      }
      cx.report(std::move(diagnostic));
      return error_at(span);
    }
    case SymbolKind::Type:
      cx.report(diag::wrong_type(span, "`" + symbol.name + "` is a type, not a value"));
      return error_at(span);
    case SymbolKind::Error: return error_at(span);
    case SymbolKind::Callback:
    case SymbolKind::Topology:
    case SymbolKind::Experiment: break;
  }
  cx.report(diag::wrong_type(span, "`" + symbol.name + "` is not a value"));
  return error_at(span);
}

std::vector<std::string> Scope::brought_names() const {
  std::vector<std::string> names;
  for (const PlaceName& name : kPlaceNames) {
    if (is_brought(name, *this)) names.emplace_back(name.name);
  }
  return names;
}

void note_known(diagnostics::Diagnostic& diagnostic, const std::vector<std::string>& known) {
  std::string list;
  for (const std::string& name : known) list += (list.empty() ? "" : ", ") + name;
  diagnostic.note("it has {}", list);
}

void note_there_are(diagnostics::Diagnostic& diagnostic, const std::vector<std::string>& known) {
  // Those of the language are fewer; of those of a program nobody reads more.
  constexpr size_t kMost = 60;
  std::string list;
  for (size_t i = 0; i < std::min(known.size(), kMost); ++i) list += (list.empty() ? "" : ", ") + known[i];
  if (known.size() > kMost) list += " and " + std::to_string(known.size() - kMost) + " more";
  if (!list.empty()) diagnostic.note("there are {}", list);
}

bool is_told_missing(const Type& record, const std::string& field, Context& cx) {
  if (cx.is_trying) return false;
  // What could not be read of it may have been that.
  if (std::ranges::any_of(record.fields, [](const TypeField& one) { return one.type.is_error(); })) return true;
  Type fields = Type::of(Kind::Record);
  fields.fields = record.fields;
  return cx.told.missing_fields.try_emplace({cx.text(fields), field}, record.kind).first->second != record.kind;
}

void report_not_in_module(const ast::Name& name, const std::string& module, Scope& scope) {
  const resolve::ModuleGraph& graph = scope.cx.graph;
  std::vector<std::string> known;
  for (const auto& [candidate, symbol] : graph.modules[graph.modules[scope.module].aliases.at(module)].symbols) {
    if (!candidate.starts_with("_")) known.push_back(candidate);
  }
  diagnostics::Diagnostic diagnostic = diag::unknown_field(name.span, "module `" + module + "`", name.text);
  if (name.text.starts_with("_")) diagnostic.note("names that begin with `_` are private to their file");
  const bool is_near = did_you_mean(diagnostic, name.text, name.span, known);
  if (!is_near && !known.empty()) diagnostic.note("{}", diagnostics::what_it_has(name.text, std::move(known)));
  scope.cx.report(std::move(diagnostic));
}

Expr check_base(const ast::Field& field, Scope& scope, Span empty_call) {
  const auto* name = field.base->get<ast::NameRef>();
  if (name == nullptr) return check_expr(*field.base, scope);
  return check_name(*field.base, name->name, scope, {.is_base = true, .field = &field.name, .empty_call = empty_call});
}

namespace {

/// Whether it takes no work to say a value again.
bool is_at_hand(const ExprView& value, const Context& cx) {
  if (const auto* member = value.get<node::Member>()) return is_at_hand(cx.at(member->object), cx);
  if (const auto* field = value.get<node::RecordField>()) return is_at_hand(cx.at(field->record), cx);
  if (const auto* element = value.get<node::TupleElement>()) return is_at_hand(cx.at(element->tuple), cx);
  return value.is<node::Local>() || value.is<node::Self>();
}

bool holds_tensors(const Type& type) {
  return type.is_tensor() || std::any_of(type.fields.begin(), type.fields.end(),
                                         [](const TypeField& field) { return holds_tensors(field.type); });
}

/// What a parameter is worth in the default of one behind it; nothing if `name` is none of the parameters.
std::optional<Expr> param_before(const ast::Name& name, Scope& scope) {
  const std::vector<ParamInfo>& params = scope.default_params->params;
  std::vector<Expr>& before = scope.default_params->before;
  const auto named = std::find_if(params.begin(), params.end(),
                                  [&](const ParamInfo& candidate) { return candidate.name == name.text; });
  if (named == params.end()) return std::nullopt;
  const auto place = size_t(named - params.begin());
  if (place >= before.size()) {
    scope.cx.report(diag::unknown_name(name.span, name.text).note("{}", scope.default_params->why_not));
    return error_at(name.span);
  }
  Expr value = before[place];
  GivenOnce* once = scope.default_params->once;
  if (once != nullptr && holds_tensors(value.type) && !is_at_hand(value, scope.cx)) {
    const LocalId local = once->scope.hidden_local(value.type);
    once->values.emplace_back(local, std::move(value));
    before[place] = local_expr(local, once->scope, once->values.back().second.span);
    value = before[place];
  }
  if (!value.type.is_error() && !check_drawn_once(value, name.text, scope.cx)) value.type = Type::error();
  if (value.type.is_error()) *scope.default_params->rests_on_errors = true;
  if (value.type.kind != named->type.kind) value = convert(std::move(value), named->type, scope, "the default");
  value.span = scope.default_params->keeps_spans ? name.span : Span{};
  return value;
}

}  // namespace

Expr check_name(const ast::Expr& expr, const ast::Name& name, Scope& scope, const NameUse& use) {
  (void)expr;
  Context& cx = scope.cx;
  if (name.text.empty()) return error_at(name.span);
  if (const auto local = scope.find_local(name.text)) {
    return {scope.local(*local).type, name.span, node::Local{*local, name.text}};
  }
  if (scope.default_params != nullptr) {
    if (auto given = param_before(name, scope)) return std::move(*given);
  }
  if (const auto dim = scope.dim_names.find(name.text); dim != scope.dim_names.end()) {
    return {Type::host_int(Polynomial::atom(dim->second)), name.span, node::Local{0, name.text}};
  }
  if (scope.owner != nullptr) {
    const bool wants_param = scope.own_param == name.text;
    const auto member = scope.owner->members.find(name.text);
    if (member != scope.owner->members.end() && !wants_param) {
      return member_of_self(name.text, member->second.type, name.span, scope, false);
    }
    for (const ParamInfo& param : scope.owner->params) {
      if (param.name == name.text) return member_of_self(name.text, param.type, name.span, scope, true);
    }
    if (const auto fn = scope.owner->fns.find(name.text); fn != scope.owner->fns.end()) {
      Type type = Type::of(Kind::Function);
      type.name = name.text;
      return {std::move(type), name.span, node::FnValue{.fn = fn->second->index, .is_method = true}};
    }
  }
  if (scope.place == Place::Hook && name.text == "model" && scope.owner != nullptr && scope.owner->model != nullptr) {
    Type type = Type::of(Kind::Model);
    type.decl = scope.owner->model->index;
    type.name = scope.owner->model->name;
    return {std::move(type), name.span, node::ModelOf{}};
  }
  if (name.text == "output" && hook_brings("output", scope)) return hook_output(name.span, scope);
  if (name.text == "batch" && hook_brings("batch", scope)) {
    cx.report(diag::wrong_type(name.span, "`batch` is read by its fields, such as `batch.x`"));
    return error_at(name.span);
  }
  if (const auto type = context_type(name.text, scope)) {
    return {*type, name.span, node::Context{name.text}};
  }
  if (const Symbol* symbol = cx.graph.find(scope.module, name.text)) {
    if (symbol->kind == SymbolKind::Error) return error_at(name.span);
    return check_symbol(*symbol, name.span, scope);
  }
  report_unknown(name, scope, use);
  return error_at(name.span);
}

}  // namespace ltr::check
