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

Expr member_of_self(const std::string& name, Type type, Span span, Scope& scope, bool is_param) {
  return {std::move(type), span, node::Member{scope.cx.keep(self_expr(scope, span)), name, is_param}};
}

Expr check_symbol(const Symbol& symbol, Span span, Scope& scope) {
  Context& cx = scope.cx;
  switch (symbol.kind) {
    case SymbolKind::Hparam: {
      const bool is_allowed = scope.place == Place::Data || scope.place == Place::Experiment ||
                              scope.place == Place::Hparam || scope.place == Place::Test;
      if (!is_allowed) {
        cx.report(diag::unknown_name(span, symbol.name)
                      .label(symbol.span, "an hparam, which only data, topologies, experiments and tests see")
                      .help("add a parameter `{}` to this declaration, and give it the value where "
                            "it is used",
                            symbol.name));
        return error_at(span);
      }
      // Of its own file a default uses what is above it; of other files hparams come as they are needed.
      const bool is_late =
          scope.place == Place::Hparam && symbol.module == scope.module && span.begin < symbol.span.begin;
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
      const auto found = cx.consts.find(symbol.decl);
      if (found != cx.consts.end()) {
        Expr value = found->second;
        value.span = span;
        return value;
      }
      const auto* decl = symbol.decl->get<ast::Const>();
      if (!cx.consts_in_work.insert(symbol.decl).second) {
        cx.report(diag::recursion(span, symbol.name));
        return error_at(span);
      }
      std::vector<Local> locals;
      Scope inner{.cx = cx, .module = symbol.module, .place = Place::Const, .locals = locals};
      Expr value = decl->type ? check_as(decl->value, check_type(*decl->type, inner), inner, "the value")
                              : check_expr(decl->value, inner);
      check_draws_nothing(value, "a constant", cx);
      cx.consts[symbol.decl] = value;
      value.span = span;
      return value;
    }
    case SymbolKind::Fn:
    case SymbolKind::Op: {
      const FnInfo& fn = fn_of(cx, symbol);
      Type type = Type::of(Kind::Function);
      type.name = fn.name;
      return {std::move(type), span, node::FnValue{.fn = fn.index}};
    }
    case SymbolKind::Block:
    case SymbolKind::Model:
    case SymbolKind::Metric:
    case SymbolKind::Data:
      cx.report(diag::wrong_type(span, "`" + symbol.name + "` is a declaration, not a value")
                    .help("build one: `{}(…)`", symbol.name));
      return error_at(span);
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

}  // namespace

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
  std::string list;
  for (const std::string& name : known) list += (list.empty() ? "" : ", ") + name;
  if (!list.empty()) diagnostic.note("there are {}", list);
}

bool did_you_mean(diagnostics::Diagnostic& diagnostic, const std::string& word, Span span,
                  const std::vector<std::string>& known) {
  if (const auto near = diagnostics::suggest(word, known)) {
    diagnostic.help("did you mean `{}`?", *near).fix(span, *near);
    return true;
  }
  if (const auto advice = diagnostics::foreign_advice(word)) {
    diagnostic.help("{}", std::string(*advice));
    return true;
  }
  return false;
}

void report_not_in_module(const ast::Name& name, const std::string& module, Scope& scope) {
  const resolve::ModuleGraph& graph = scope.cx.graph;
  std::vector<std::string> known;
  for (const auto& [candidate, symbol] : graph.modules[graph.modules[scope.module].aliases.at(module)].symbols) {
    if (!candidate.starts_with("_")) known.push_back(candidate);
  }
  diagnostics::Diagnostic diagnostic = diag::unknown_field(name.span, "module `" + module + "`", name.text);
  if (name.text.starts_with("_")) diagnostic.note("names that begin with `_` are private to their file");
  did_you_mean(diagnostic, name.text, name.span, known);
  scope.cx.report(std::move(diagnostic));
}

namespace {

std::vector<std::string> hooks_that_bring(const std::string& name) {
  std::vector<std::string> list;
  for (const Hook& hook : hooks()) {
    if (hook.brings(name)) list.emplace_back(hook.name);
  }
  return list;
}

/// Where an import may be put into the file: the end of the line of its edition.
std::optional<Span> behind_edition(const Scope& scope) {
  const resolve::Module& module = scope.cx.graph.modules[scope.module];
  const std::string_view text = scope.cx.sources.text(module.ast.source);
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    if (text.substr(begin, end - begin).starts_with("ltr "))
      return Span{module.ast.source, uint32_t(end), uint32_t(end)};
    begin = end + 1;
  }
  return std::nullopt;
}

}  // namespace

void report_unknown(const ast::Name& name, Scope& scope) {
  if (scope.cx.sink->is_full()) return;  // Looking for what is near takes its time.
  static const std::set<std::string> kHookWords = {"stop", "save", "end_epoch", "metric"};
  if (kHookWords.contains(name.text) && scope.place != Place::Hook) {
    scope.cx.report(diag::wrong_place(name.span, "`" + name.text + "` stands in the hooks of a callback"));
    return;
  }
  diagnostics::Diagnostic diagnostic = diag::unknown_name(name.span, name.text);
  if (const std::vector<std::string> bring = hooks_that_bring(name.text);
      scope.place == Place::Hook && !bring.empty()) {
    std::string list;
    for (const std::string& hook : bring) list += (list.empty() ? "" : ", ") + hook;
    scope.cx.report(std::move(diagnostic.note("hooks that bring it: {}", list)));
    return;
  }
  if (const std::string module = resolve::LibraryIndex::module_of(name.text); !module.empty()) {
    const std::string import = "import " + module + ".{" + name.text + "}";
    diagnostic.note("it is in `{}`", module).help("`{}` below the first line", import);
    if (const auto place = behind_edition(scope)) diagnostic.fix(*place, "\n" + import);
    scope.cx.report(std::move(diagnostic));
    return;
  }
  // What is declared near by is meant more often than what the library holds.
  did_you_mean(diagnostic, name.text, name.span, scope.near_names()) ||
      did_you_mean(diagnostic, name.text, name.span, scope.names());
  scope.cx.report(std::move(diagnostic));
}

Expr check_name(const ast::Expr& expr, const ast::Name& name, Scope& scope) {
  (void)expr;
  Context& cx = scope.cx;
  if (name.text.empty()) return error_at(name.span);
  if (const auto local = scope.find_local(name.text)) {
    return {scope.local(*local).type, name.span, node::Local{*local, name.text}};
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
  report_unknown(name, scope);
  return error_at(name.span);
}

Expr field_of(Expr base, const ast::Name& name, Span span, Scope& scope) {
  Context& cx = scope.cx;
  const Type type = base.type;
  if (type.is_error()) return error_at(span);
  std::vector<std::string> known;
  const std::string& field = name.text;
  switch (type.kind) {
    case Kind::Record:
      for (const TypeField& candidate : type.fields) {
        if (candidate.name == field) {
          return {candidate.type, span, node::RecordField{cx.keep(std::move(base)), field}};
        }
        known.push_back(candidate.name);
      }
      if (!holds_layers(type)) break;
      if (field == "weights") return weights_of(std::move(base), span, cx);
      known.emplace_back("weights");
      break;
    case Kind::Tensor:
      if (field == "shape") {
        Type list = Type::of(Kind::List);
        list.value = Polynomial(int64_t(type.dims.size()));
        for (const Dim& dim : type.dims) {
          list.fields.push_back({"", Type::host_int(dim.group != 0 ? cx.program.atoms.unknown() : dim.size)});
          if (dim.group != 0) list.value = cx.program.atoms.unknown();
        }
        if (type.dims.empty()) {
          list.uniform = true;
          list.fields.push_back({"", Type::host_int()});
        }
        return {std::move(list), span, node::Shape{cx.keep(std::move(base))}};
      }
      known = {"shape"};
      break;
    case Kind::Block:
    case Kind::Model:
    case Kind::Data: {
      if (field == "weights" && type.kind != Kind::Data) {
        return weights_of(std::move(base), span, cx);
      }
      const ObjectInfo* object = find_object(cx, type.kind, type.decl);
      if (object == nullptr) return error_at(span);
      if (const auto member = object->members.find(field); member != object->members.end()) {
        return {instantiate(member->second.type, type.arguments, cx), span,
                node::Member{cx.keep(std::move(base)), field}};
      }
      for (const ParamInfo& param : object->params) {
        known.push_back(param.name);
        if (param.name != field) continue;
        return {instantiate(param.type, type.arguments, cx), span, node::Member{cx.keep(std::move(base)), field, true}};
      }
      for (const auto& [member, info] : object->members) known.push_back(member);
      for (const auto& [fn, info] : object->fns) known.push_back(fn);
      known.emplace_back("weights");
      break;
    }
    case Kind::Metric:
      for (const auto& [fn, info] : find_object(cx, type.kind, type.decl)->fns) known.push_back(fn);
      break;
    case Kind::List:
    case Kind::Tuple:
      if (field == "length" && type.kind == Kind::List) {
        // The elements of a mixed list are counted as they are written.
        if (!type.uniform) return int_const(int64_t(type.fields.size()), span);
        return {Type::host_int(type.value), span, node::ListLength{cx.keep(std::move(base))}};
      }
      if (type.kind == Kind::List) known = {"length"};
      if (!holds_layers(type) && !type.fields.empty()) break;
      if (field == "weights") return weights_of(std::move(base), span, cx);
      known.emplace_back("weights");
      break;
    case Kind::Str:
    case Kind::Path:
      if (field == "length")
        return op_expr(library::Id::TextLength, Type::host_int(), span, {cx.keep(std::move(base))});
      known = text_methods(type, cx);
      break;
    case Kind::Optimizer:
      if (field == "weights") return weights_of(std::move(base), span, cx);
      if (field == "grads")
        return op_expr(library::Id::GradsOf, Type::of(Kind::Gradients), span, {cx.keep(std::move(base))});
      if (field == "name")
        return op_expr(library::Id::OptimizerName, Type::of(Kind::Str), span, {cx.keep(std::move(base))});
      if (field == "lr")
        return op_expr(library::Id::OptimizerLr, Type::of(Kind::Float), span,
                       {cx.keep(std::move(base)), cx.keep({Type::host_int(), span, node::Context{"global_step"}})});
      known = {"weights", "grads", "name", "lr"};
      break;
    case Kind::Facts:
    case Kind::FieldFacts:
    case Kind::Vocabulary: return known_field(std::move(base), name, span, scope);
    case Kind::Stream:
      if (field == "vocab" && type.has_vocab) {
        Type size = Type::host_int();
        if (const auto* member = base.get<node::DataMember>()) {
          const AtomId atom = cx.program.atoms.variable("data." + member->name + ".vocab", 0, false, true);
          size.value = Polynomial::atom(atom);
          Expr result = op_expr(library::Id::CharacterCount, size, span, {cx.keep(std::move(base))});
          cx.program.sizes_at_start[atom] = result;
          return result;
        }
        return op_expr(library::Id::CharacterCount, size, span, {cx.keep(std::move(base))});
      }
      if (field == "vocab") {
        cx.report(diag::unknown_field(name.span, cx.text(type), field)
                      .note("only a stream of characters, which begins with `text_chars`, has a vocabulary"));
        return error_at(span);
      }
      if (type.has_vocab) known = {"vocab"};
      break;
    default: break;
  }
  diagnostics::Diagnostic diagnostic = diag::unknown_field(name.span, cx.text(type), field);
  if (!did_you_mean(diagnostic, field, name.span, known) && !known.empty()) {
    std::string list;
    for (const std::string& one : known) list += (list.empty() ? "`" : ", `") + one + "`";
    diagnostic.note("it has {}", list);
  }
  cx.report(std::move(diagnostic));
  return error_at(span);
}

Expr check_field(const ast::Expr& expr, const ast::Field& field, Scope& scope) {
  Context& cx = scope.cx;
  if (const auto* base = field.base->get<ast::NameRef>(); base != nullptr && !scope.find_local(base->name.text)) {
    const std::string& name = base->name.text;
    if (name == "data" && scope.data != nullptr) {
      for (const auto& [member, info] : scope.data->members) {
        if (member == field.name.text) return {info.type, expr.span, node::DataMember{member}};
      }
      for (const ParamInfo& param : scope.data->params) {
        if (param.name != field.name.text) continue;
        return {param.type, expr.span, node::DataMember{param.name, true}};
      }
      if (scope.data->is_damaged) return error_at(expr.span);
      std::vector<std::string> known;
      for (const auto& [member, info] : scope.data->members) known.push_back(member);
      for (const ParamInfo& param : scope.data->params) known.push_back(param.name);
      diagnostics::Diagnostic diagnostic =
          diag::unknown_field(field.name.span, "data `" + scope.data->name + "`", field.name.text);
      did_you_mean(diagnostic, field.name.text, field.name.span, known);
      cx.report(std::move(diagnostic));
      return error_at(expr.span);
    }
    if (name == "batch" && hook_brings("batch", scope)) return hook_batch_field(field.name, expr.span, scope);
    if (name == "run" && (scope.place == Place::Hook || scope.place == Place::Experiment)) {
      if (field.name.text == "dir" || field.name.text == "name") {
        const Type type = Type::of(field.name.text == "dir" ? Kind::Path : Kind::Str);
        return {type, expr.span, node::Context{"run." + field.name.text}};
      }
      cx.report(diag::unknown_field(field.name.span, "`run`", field.name.text).note("it has `dir` and `name`"));
      return error_at(expr.span);
    }
    if (cx.graph.modules[scope.module].aliases.contains(name)) {
      if (const Symbol* symbol = cx.graph.find(scope.module, name + "." + field.name.text))
        return check_symbol(*symbol, expr.span, scope);
      report_not_in_module(field.name, name, scope);
      return error_at(expr.span);
    }
  }
  return field_of(check_expr(*field.base, scope), field.name, expr.span, scope);
}

}  // namespace ltr::check
