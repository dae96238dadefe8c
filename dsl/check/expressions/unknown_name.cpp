#include <algorithm>

#include "dsl/ast/walk.h"
#include "dsl/check/declarations/declarations.h"
#include "dsl/check/declarations/hook.h"
#include "dsl/check/expressions/known.h"
#include "dsl/check/library/library_call.h"
#include "dsl/check/scope/places.h"
#include "dsl/diagnostics/suggest.h"
#include "dsl/resolve/library.h"
#include "runtime/tables/roles.h"

// What is said of a name that is not there.
namespace ltr::check {

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

/// What may be meant by a name that is used so. Schedules, optimizers and what is listed in an experiment have places of their
/// own.
std::vector<std::string> names_for(const NameUse& use, const Scope& scope) {
  std::vector<std::string> names = scope.names();
  if (use.wanted != nullptr && !use.wanted->is_tensor()) return names;
  const resolve::LibraryIndex& library = resolve::LibraryIndex::get();
  std::set<std::string> others;
  if (scope.owner == nullptr || scope.owner->kind != Kind::Data) {
    for (const std::string& name : library.names("data/")) others.insert(name);
  }
  for (const char* folder : {"optim/", "schedules/", "callbacks/", "loggers/", "trainer/", "sweep/"}) {
    for (const std::string& name : library.names(folder)) {
      const Symbol* symbol = scope.cx.graph.find(scope.module, name);
      if (symbol == nullptr) others.insert(name);
    }
  }
  if (scope.place != Place::Experiment) {
    for (const char* folder : {"callbacks/", "loggers/"}) {
      for (const std::string& name : library.names(folder)) others.insert(name);
    }
  }
  std::erase_if(names, [&](const std::string& name) { return others.contains(name); });
  return names;
}

/// Those of `names` that are no functions.
std::vector<std::string> values_among(std::vector<std::string> names, const Scope& scope) {
  std::erase_if(names, [&](const std::string& name) {
    if (scope.find_local(name)) return false;
    if (scope.owner != nullptr && scope.owner->fns.contains(name)) return true;
    const Symbol* symbol = scope.cx.graph.find(scope.module, name);
    return symbol != nullptr && (symbol->kind == SymbolKind::Fn || symbol->kind == SymbolKind::Op);
  });
  return names;
}

/// What a hook reads otherwise than by its name alone: the model, what is in it, series. False if `name` is none of these.
bool help_in_hook(diagnostics::Diagnostic& diagnostic, const ast::Name& name, const Scope& scope) {
  if (scope.place != Place::Hook || scope.owner == nullptr) return false;
  const ObjectInfo* model = scope.owner->model;
  if (name.text == "model" && model == nullptr) {
    diagnostic.help("`callback {} for MODEL` says which model it is", scope.owner->name);
  } else if (name.text == "trainer") {
    diagnostic.help("`metric(val.loss)` is the newest value of a series, and `stop(\"why\")` ends the run");
  } else if (name.text == "pl_module") {
    diagnostic.help("the model is `model`, under `callback {} for MODEL`", scope.owner->name);
  } else if (is_logging_role(name.text)) {
    diagnostic.help("the newest value of a series is `metric({}.NAME)`", name.text);
  } else if (model != nullptr && (model->members.contains(name.text) || model->fns.contains(name.text))) {
    diagnostic.help("it is the model's: `model.{}`", name.text);
  } else {
    return false;
  }
  return true;
}

/// `text` where a variable has such a field: `row.text`. False if none has.
bool help_of_field(diagnostics::Diagnostic& diagnostic, const ast::Name& name, const Scope& scope) {
  for (const auto& frame : scope.frames) {
    for (const auto& [variable, local] : frame) {
      const Type& type = scope.locals[local].type;
      const bool has_field =
          type.kind == Kind::Record &&
          std::any_of(type.fields.begin(), type.fields.end(), [&](const auto& one) { return one.name == name.text; });
      if (!has_field) continue;
      const std::string field = variable + "." + name.text;
      diagnostic.help("it is a field: `{}`", field).fix(name.span, field);
      return true;
    }
  }
  return false;
}

/// `mse_loss` of `torch.nn.functional.mse_loss`, behind a part of which `part` is the place.
std::optional<ast::Name> last_of_path(Span part, const Scope& scope) {
  const std::string_view text = scope.cx.sources.text(part.source);
  const auto is_letter = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; };
  std::optional<ast::Name> last;
  for (size_t end = part.end; end + 1 < text.size() && text[end] == '.' && is_letter(text[end + 1]);) {
    const size_t begin = ++end;
    while (end < text.size() && is_letter(text[end])) ++end;
    last = {std::string(text.substr(begin, end - begin)), {part.source, uint32_t(begin), uint32_t(end)}};
  }
  return last;
}

/// `nn.Linear`: what another library has in a module is in scope by itself, perhaps under another name.
bool help_of_package(diagnostics::Diagnostic& diagnostic, const ast::Name& name, const NameUse& use,
                     const Scope& scope) {
  if (use.field == nullptr || !diagnostics::is_foreign_package(name.text)) return false;
  const ast::Name last = last_of_path(use.field->span, scope).value_or(*use.field);
  const std::string& word = last.text;
  if (word == "pi" || word == "e") {
    diagnostic.help("a constant of your own: `const {} = {}`", word,
                    word == "pi" ? "3.141592653589793" : "2.718281828459045");
    return true;
  }
  const std::vector<std::string> known = scope.names();
  const Span whole = source::join(name.span, last.span);
  if (std::find(known.begin(), known.end(), word) != known.end()) {
    diagnostic.help("`{}` is in scope without a module", word).fix(whole, word);
    return true;
  }
  return did_you_mean(diagnostic, word, whole, known, diagnostics::WordUse::Attribute);
}

/// The batch as a whole, which Lightning gives a step. False if `name` is another.
bool help_in_step(diagnostics::Diagnostic& diagnostic, const ast::Name& name, const Scope& scope) {
  if (scope.place != Place::Step || scope.info == nullptr || name.text != "batch") return false;
  std::string fields;
  for (const ParamInfo& param : scope.info->params) fields += (fields.empty() ? "`" : ", `") + param.name + "`";
  diagnostic.help("the fields of the batch are parameters of the step{}", fields.empty() ? "" : ": " + fields);
  return true;
}

/// `optimizer.step()` in a step, where the model has none of that name.
bool help_of_optimizer(diagnostics::Diagnostic& diagnostic, const ast::Name& name, const NameUse& use,
                       const Scope& scope) {
  if (name.text != "optimizer" || use.field == nullptr || scope.place != Place::Step || scope.owner == nullptr)
    return false;
  std::vector<std::string> optimizers;
  for (const auto& [member, info] : scope.owner->members) {
    if (info.kind == MemberKind::Optimizer) optimizers.push_back(member);
  }
  if (!scope.info->is_manual)
    diagnostic.help("`minimize loss` clears, differentiates and updates");
  else if (optimizers.size() == 1)
    diagnostic.help("that of the model is `{}`", optimizers[0]).fix(name.span, optimizers[0]);
  else
    note_there_are(diagnostic, optimizers);
  return true;
}

/// `model.net` in the code of the model itself.
bool help_in_model(diagnostics::Diagnostic& diagnostic, const ast::Name& name, const NameUse& use, const Scope& scope) {
  if (name.text != "model" || scope.owner == nullptr || scope.owner->kind != Kind::Model) return false;
  const bool is_mode = use.field != nullptr && (use.field->text == "train" || use.field->text == "eval") &&
                       !scope.owner->members.contains(use.field->text);
  if (is_mode) {
    diagnostic.help("modes follow the step: training in `step train`, evaluation everywhere else");
    return true;
  }
  diagnostic.help("members are named by themselves{}", use.field != nullptr ? ": `" + use.field->text + "`" : "");
  if (use.field != nullptr) diagnostic.fix({name.span.source, name.span.begin, use.field->span.begin}, "");
  return true;
}

/// `Adam(weights)` in a model whose members have some: they are named. False if it has none yet.
bool help_of_weights(diagnostics::Diagnostic& diagnostic, const ast::Name& name, const NameUse& use,
                     const Scope& scope) {
  if ((name.text != "weights" && name.text != "parameters") || scope.owner == nullptr) return false;
  std::map<uint32_t, std::string> owners;  // In the order of declaration.
  for (const auto& [member, info] : scope.owner->members) {
    if (info.kind == MemberKind::Weight) owners.emplace(info.span.begin, member);
    if (info.type.kind == Kind::Block || holds_layers(info.type)) owners.emplace(info.span.begin, member + ".weights");
  }
  if (owners.empty()) return false;
  std::string list;
  for (const auto& [place, text] : owners) list += (list.empty() ? "" : ", ") + text;
  if (owners.size() > 1) list = "[" + list + "]";
  diagnostic.help("of the members it is `{}`", list);
  if (use.given == nullptr && use.field == nullptr) diagnostic.fix(name.span, list);
  return true;
}

/// `words` in an experiment, of the data that it wires.
bool help_of_data(diagnostics::Diagnostic& diagnostic, const ast::Name& name, const Scope& scope) {
  if (scope.place != Place::Experiment || scope.data == nullptr || !scope.data->members.contains(name.text))
    return false;
  diagnostic.help("it is of the data: `data.{}`", name.text).fix(name.span, "data." + name.text);
  return true;
}

/// A bare word where a text is wanted, or one word of a choice where a list of them is. False if neither is.
bool help_of_text(diagnostics::Diagnostic& diagnostic, const ast::Name& name, const NameUse& use) {
  if (use.wanted == nullptr || use.given != nullptr || use.field != nullptr) return false;
  const bool is_list = use.wanted->kind == Kind::List && !use.wanted->fields.empty();
  const std::vector<std::string> choices = is_list ? use.wanted->fields[0].type.choices : std::vector<std::string>();
  if (std::find(choices.begin(), choices.end(), name.text) != choices.end()) {
    diagnostic.help("a list of one is `[{}]`", name.text).fix(name.span, "[" + name.text + "]");
    return true;
  }
  if (use.wanted->kind != Kind::Str) return false;
  diagnostic.help("a text stands in quotes: `\"{}\"`", name.text).guess(name.span, "\"" + name.text + "\"");
  return true;
}

/// `count += 1` of a name that is not there.
void help_updated(diagnostics::Diagnostic& diagnostic, const ast::Name& name, const Scope& scope) {
  diagnostic.help("what is updated has a value before: `{} = …` above this line", name.text);
  if (scope.place == Place::Hook)
    diagnostic.help("what a callback keeps from one time to the next is a state of it: `state {}: int = 0`", name.text);
  if (scope.place == Place::Update)
    diagnostic.help("what a metric counts is a state of it: `state {}: i64 = 0 reduce sum`", name.text);
}

/// `accuracy(z, y)` of code, where `Accuracy` is a metric: it is built once, as a member of that name.
bool help_of_object(diagnostics::Diagnostic& diagnostic, const ast::Name& name, const NameUse& use,
                    const Scope& scope) {
  if (use.given == nullptr || scope.owner == nullptr || name.text[0] < 'a' || name.text[0] > 'z') return false;
  const auto near = diagnostics::suggest(name.text, scope.names());
  const bool is_code = scope.place == Place::Step || scope.place == Place::Fn;
  if (!is_code || !near || (*near)[0] < 'A' || (*near)[0] > 'Z') return false;
  diagnostic.help("build it once, as a member: `{} = {}(…)`", name.text, *near);
  return true;
}

/// What may be called where `name` is, if that is a closed set: of `rows |> shuffl(1)` the stages. Empty if it is none.
std::vector<std::string> callable_at(const ast::Name& name, const NameUse& use, const Scope& scope) {
  if (use.given == nullptr) return {};
  if (scope.closed != nullptr && scope.closed->callee == name.span) return scope.closed->names();
  const bool is_piped = scope.place == Place::Data && !use.given->empty() && use.given->front().checked &&
                        use.given->front().checked->type.kind == Kind::Stream;
  return is_piped ? resolve::LibraryIndex::get().names("data/stages") : std::vector<std::string>();
}

/// `zeros(…)` and its like, which give what a weight begins with.
std::string initial_functions() {
  std::string list = "`zeros(…)`, `ones(…)`, `rand(…)`, `randn(…)`";
  for (const std::string& name : resolve::LibraryIndex::get().names("init/")) list += ", `" + name + "(…)`";
  return list;
}

/// `row (x = row.x)`, which calls what it hands over: a function that lacks its `=>`.
bool help_of_function(diagnostics::Diagnostic& diagnostic, const ast::Name& name, const NameUse& use) {
  if (use.given == nullptr || std::ranges::none_of(*use.given, [&](const Given& one) {
        return one.value != nullptr && ast::mentions(*one.value, name.text);
      }))
    return false;
  diagnostic.help("a function without a name is `{} => …`", name.text)
      .fix({name.span.source, name.span.end, name.span.end}, " =>");
  return true;
}

/// What another library builds and then calls, `ReLU()`, is the function itself: the fix takes the brackets, too.
void take_empty_call(diagnostics::Diagnostic& diagnostic, const NameUse& use, const Scope& scope) {
  if (use.empty_call.is_empty() || diagnostic.fixes.size() != 1) return;
  diagnostics::Fix& fix = diagnostic.fixes[0];
  const Symbol* ours = scope.cx.graph.find(scope.module, fix.replacement);
  if (ours == nullptr || ours->kind != SymbolKind::Op || fn_of(scope.cx, *ours).params.empty()) return;
  fix.span.end = use.empty_call.end;
  diagnostic.note("`{}` is a function, and stands without brackets where it is not called", fix.replacement);
}

}  // namespace

Span callee_of(const ast::Expr& value) {
  if (const auto* pipe = value.get<ast::Pipe>()) return callee_of(*pipe->value);
  const auto* call = value.get<ast::Call>();
  const auto* callee = call != nullptr ? call->callee->get<ast::NameRef>() : nullptr;
  return callee != nullptr ? callee->name.span : Span{};
}

bool is_in_scope(const std::string& name, const Scope& scope) {
  const std::vector<std::string> names = scope.names();
  return std::find(names.begin(), names.end(), name) != names.end();
}

void report_unknown(const ast::Name& name, Scope& scope, const NameUse& use) {
  if (scope.cx.sink->is_full()) return;  // Looking for what is near takes its time.
  if (find_place_function(PlaceFunction::Of::Hooks, name.text) != nullptr && scope.place != Place::Hook) {
    scope.cx.report(diag::wrong_place(name.span, "`" + name.text + "` stands in the hooks of a callback"));
    return;
  }
  if (lacks_params(scope)) return;
  if (scope.lost_data && name.text == "data") return;
  // `opt.zero_grad()`, `loss.backward()` and `opt.step()` are one way to write an update.
  const bool is_update = name.text == "optimizer" && scope.place == Place::Step && !scope.info->is_manual;
  if (is_update && std::exchange(scope.info->is_told_manual, true)) return;
  diagnostics::Diagnostic diagnostic = diag::unknown_name(name.span, name.text);
  if (!scope.cx.may_search(scope.module)) return scope.cx.report(std::move(diagnostic));
  const bool is_called = use.given != nullptr;
  if (help_late_name(diagnostic, name, is_called, scope)) return scope.cx.report(std::move(diagnostic));
  if (use.field != nullptr) {
    const std::string whole = name.text + "." + use.field->text;
    if (!help_qualifier(diagnostic, whole, name.span, resolve::Space::Symbols, scope.module, scope.cx, false)) return;
    if (!diagnostic.helps.empty()) return scope.cx.report(std::move(diagnostic));
  }
  if (const std::vector<std::string> bring = hooks_that_bring(name.text);
      scope.place == Place::Hook && !bring.empty()) {
    std::string list;
    for (const std::string& hook : bring) list += (list.empty() ? "" : ", ") + hook;
    diagnostic.listed = bring;
    if (scope.info != nullptr && scope.info->ast != nullptr)
      diagnostic.tie(diagnostics::Tie::Hook, scope.info->ast->name.span, "this hook does not bring it");
    scope.cx.report(std::move(diagnostic.note("hooks that bring it: {}", list)));
    return;
  }
  if (const std::string module = resolve::LibraryIndex::module_of(name.text); !module.empty()) {
    const std::string import = "import " + module + ".{" + name.text + "}";
    const auto place = behind_edition(scope);
    // What tensors of a batch go through is more likely what another library calls so; images are made ready in data.
    const bool is_of_data = scope.owner != nullptr && scope.owner->kind == Kind::Data;
    if (const auto advice = is_of_data ? std::nullopt : diagnostics::foreign_advice(name.text)) {
      diagnostic.help("{}", std::string(*advice)).help("the `{}` of `{}`: `{}`", name.text, module, import);
      if (place) diagnostic.guess(*place, "\n" + import);
    } else {
      diagnostic.note("it is in `{}`", module).help("`{}` below the first line", import);
      if (place) diagnostic.fix(*place, "\n" + import);
    }
    scope.cx.report(std::move(diagnostic));
    return;
  }
  if (help_of_function(diagnostic, name, use)) return scope.cx.report(std::move(diagnostic));
  if (help_in_step(diagnostic, name, scope) || help_in_hook(diagnostic, name, scope) ||
      help_in_model(diagnostic, name, use, scope) || help_of_optimizer(diagnostic, name, use, scope) ||
      help_of_data(diagnostic, name, scope) || help_of_field(diagnostic, name, scope) ||
      help_of_module(diagnostic, name, scope.module, scope.cx) || help_of_package(diagnostic, name, use, scope) ||
      help_of_weights(diagnostic, name, use, scope)) {
    take_empty_call(diagnostic, use, scope);
    return scope.cx.report(std::move(diagnostic));
  }
  if (use.wanted != nullptr && use.wanted->kind == Kind::Optimizer && scope.owner != nullptr) {
    std::vector<std::string> optimizers;
    for (const auto& [member, info] : scope.owner->members) {
      if (info.kind == MemberKind::Optimizer) optimizers.push_back(member);
    }
    if (!did_you_mean(diagnostic, name.text, name.span, optimizers)) note_there_are(diagnostic, optimizers);
    return scope.cx.report(std::move(diagnostic));
  }
  const std::vector<std::string> callable = callable_at(name, use, scope);
  if (!callable.empty()) {
    if (!did_you_mean(diagnostic, name.text, name.span, callable)) note_there_are(diagnostic, callable);
    if (use.given != nullptr) rename_arguments(diagnostic, *use.given, scope);
    return scope.cx.report(std::move(diagnostic));
  }
  if (help_of_text(diagnostic, name, use)) return scope.cx.report(std::move(diagnostic));
  // What is declared near by is meant more often than what the library holds.
  const bool wants_other = use.wanted != nullptr && !use.wanted->is_error() && use.wanted->kind != Kind::Function;
  const bool is_no_fn = use.is_base || wants_other;
  const std::vector<std::string> declared = is_no_fn ? values_among(scope.near_names(), scope) : scope.near_names();
  if (diagnostics::suggest(name.text, declared) || diagnostics::foreign_advice(name.text))
    did_you_mean(diagnostic, name.text, name.span, declared);
  else if (use.is_updated)
    help_updated(diagnostic, name, scope);
  else if (!help_of_object(diagnostic, name, use, scope))
    did_you_mean(diagnostic, name.text, name.span,
                 is_no_fn ? values_among(names_for(use, scope), scope) : names_for(use, scope));
  const bool begins_weight = !scope.own_dims.empty() && use.given != nullptr;
  if (begins_weight && diagnostic.helps.empty()) diagnostic.note("a weight may begin as {}", initial_functions());
  take_empty_call(diagnostic, use, scope);
  if (use.given != nullptr) rename_arguments(diagnostic, *use.given, scope);
  scope.cx.report(std::move(diagnostic));
}

}  // namespace ltr::check
