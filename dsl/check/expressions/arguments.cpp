#include <algorithm>
#include <utility>

#include "dsl/check/declarations/declarations.h"
#include "dsl/check/expressions/call.h"
#include "dsl/check/scope/aside.h"
#include "dsl/diagnostics/suggest.h"
#include "runtime/tables/roles.h"

namespace ltr::check {

std::string count_text(size_t count, const char* noun) {
  return std::to_string(count) + " " + noun + (count == 1 ? "" : "s");
}

namespace {

/// Adds to `found` those of `atoms` that are in the sizes of a type.
void find_atoms(const Type& type, const std::set<AtomId>& atoms, const AtomTable& table, std::set<AtomId>& found) {
  const auto look_at = [&](const Polynomial& size) {
    for (const AtomId atom : table.deep_atoms(size)) {
      if (atoms.contains(atom)) found.insert(atom);
    }
  };
  for (const Dim& dim : type.dims) look_at(dim.size);
  if (type.value) look_at(*type.value);
  for (const TypeField& field : type.fields) find_atoms(field.type, atoms, table, found);
  for (const auto& [atom, value] : type.arguments) look_at(value);
}

}  // namespace

void forget_unbound(Type& type, const std::set<AtomId>& free, Context& cx) {
  std::set<AtomId> left;
  find_atoms(type, free, cx.program.atoms, left);
  if (left.empty()) return;
  Binding unbound;
  for (const AtomId atom : left) unbound.dims[atom] = cx.program.atoms.unknown();
  type = substitute(type, unbound, cx);
}

std::set<AtomId> free_atoms(const FnInfo& fn) {
  std::set<AtomId> free;
  for (const auto& [name, atom] : fn.binders) free.insert(atom);
  for (const ParamInfo& param : fn.params) {
    free.insert(param.sizes.begin(), param.sizes.end());
  }
  return free;
}

void rename_arguments(diagnostics::Diagnostic& diagnostic, const std::vector<Given>& given, const Scope& scope) {
  if (diagnostic.fixes.size() != 1) return;
  const Context& cx = scope.cx;
  const std::string name = diagnostic.fixes[0].replacement;
  const auto schedule = cx.graph.schedules.find(name);
  const Symbol* symbol = schedule != cx.graph.schedules.end() ? &schedule->second : cx.graph.find(scope.module, name);
  const bool is_object = symbol != nullptr && cx.declared.objects.contains(symbol->decl);
  if (symbol == nullptr || (symbol->fn == nullptr && !is_object)) return;
  std::vector<std::string> known;
  for (const ast::Param& param : symbol->fn != nullptr ? symbol->fn->params : written_params(*symbol->decl))
    known.push_back(param.name.text);
  for (const Given& one : given) {
    if (!one.name || std::find(known.begin(), known.end(), one.name->text) != known.end()) continue;
    if (const auto ours = diagnostics::suggest(one.name->text, known))
      diagnostic.help("`{}` is `{}` there", one.name->text, *ours).fix(one.name->span, *ours);
  }
}

Expr check_given(const Given& given, Scope& scope) {
  return given.checked ? *given.checked : check_expr(*given.value, scope);
}

Expr check_given_as(const Given& given, const Type& wanted, Scope& scope, const char* what) {
  return given.checked ? convert(*given.checked, wanted, scope, what) : check_as(*given.value, wanted, scope, what);
}

namespace {

/// The first param that nothing is given for, by its place or its name.
std::string first_free(const std::vector<ParamInfo>& params, const std::vector<const Given*>& bound,
                       const std::vector<Given>& given) {
  for (size_t i = 0; i < params.size(); ++i) {
    const bool is_named = std::any_of(given.begin(), given.end(),
                                      [&](const Given& one) { return one.name && one.name->text == params[i].name; });
    if (bound[i] == nullptr && !is_named) return params[i].name;
  }
  return "NAME";
}

/// `drop_last` alone, where `drop_last = true` is meant. False if it is none of the params, or something else in scope.
bool report_bare_param(const Given& given, const std::vector<ParamInfo>& params, Scope& scope) {
  const auto* word = !given.name && given.value != nullptr ? given.value->get<ast::NameRef>() : nullptr;
  if (word == nullptr) return false;
  const auto param =
      std::find_if(params.begin(), params.end(), [&](const ParamInfo& one) { return one.name == word->name.text; });
  if (param == params.end() || param->type.kind != Kind::Bool || is_in_scope(param->name, scope)) return false;
  const std::string text = param->name + " = true";
  scope.cx.report(diag::unknown_name(word->name.span, param->name)
                      .help("it is a parameter: `{}`", text)
                      .fix(word->name.span, text));
  return true;
}

/// Adds that what is called is the program's, where the library has one of its name. False if it has none.
bool note_own(diagnostics::Diagnostic& diagnostic, const CallSite& site) {
  const resolve::Module& module = site.scope.cx.graph.modules[site.scope.module];
  if (module.is_library || !module.symbols.contains(site.name)) return false;
  const size_t notes = diagnostic.notes.size();
  note_hidden(diagnostic, site.name, {}, site.scope.cx);
  return diagnostic.notes.size() != notes;
}

/// `macro` of `average = macro`, or a type: what a word alone means, the callee says, which is not known.
bool is_word_of_callee(const Given& given, const Scope& scope) {
  const auto* word = given.value->get<ast::NameRef>();
  if (word == nullptr) return false;
  return is_type_name(word->name.text) || (given.name && !is_in_scope(word->name.text, scope));
}

/// E0309 of an argument with a name that no param has. `others` is that of names that are like none of them, which are told
/// together, when all are known. False if what is called is another one than is meant, which says all.
bool report_unknown_param(const Given& given, const std::vector<ParamInfo>& params, const CallSite& site,
                          const std::string& callee, std::optional<diagnostics::Diagnostic>& others) {
  std::vector<std::string> names;
  for (const ParamInfo& candidate : params) names.push_back(candidate.name);
  diagnostics::Diagnostic diagnostic =
      diag::wrong_argument(given.name->span, "`" + callee + "` has no parameter `" + given.name->text + "`");
  bool is_like_one = true;
  if (const auto advice = diagnostics::advice_of_argument(callee, given.name->text)) {
    diagnostic.help("{}", std::string(*advice));
  } else if (!did_you_mean(diagnostic, given.name->text, given.name->span, names, diagnostics::WordUse::Argument)) {
    is_like_one = false;
    std::string list;
    for (const std::string& name : names) list += (list.empty() ? "`" : ", `") + name + "`";
    if (!list.empty()) diagnostic.note("it has {}", list);
  }
  const bool is_hiding = note_own(diagnostic, site);
  if (is_like_one || is_hiding) {
    site.scope.cx.report(std::move(diagnostic));
    return !is_hiding;
  }
  if (others) {
    others->label(given.name->span, "nor `{}`", given.name->text);
    return true;
  }
  if (callee == "log") {
    const bool has_name = site.scope.cx.source_text(given.value->span) == given.name->text;
    diagnostic.note("with brackets it is the logarithm")
        .help("a value is recorded by the statement `log`, one for each: `log {}{}`", given.name->text,
              has_name ? "" : " = …");
  }
  others = std::move(diagnostic);
  return true;
}

/// `Regressor(hidden, lr)` of one that takes `hidden, drop, lr`: what is given by its place has the name of the param behind, and all
/// behind it moved up.
void help_left_out(diagnostics::Diagnostic& diagnostic, const std::vector<ParamInfo>& params,
                   const std::vector<const Given*>& bound) {
  for (size_t i = 0; i + 1 < params.size(); ++i) {
    const Given* given = bound[i];
    const auto* name =
        given != nullptr && !given->name && given->value != nullptr ? given->value->get<ast::NameRef>() : nullptr;
    if (name == nullptr || name->name.text != params[i + 1].name || bound[params.size() - 1] != nullptr) continue;
    diagnostic.label(given->span, "`{}` is given as `{}`", name->name.text, params[i].name)
        .help("`{}` is missing in front of it", params[i].name);
    return;
  }
}

}  // namespace

std::optional<std::vector<const Given*>> bind_arguments(const std::vector<ParamInfo>& params, const CallSite& site,
                                                        const std::string& callee) {
  Context& cx = site.scope.cx;
  std::vector<const Given*> bound(params.size(), nullptr);
  bool has_error = false;
  bool has_more = false;  ///< than there are params
  size_t next = 0;
  const Given* named = nullptr;  ///< the first with a name
  std::optional<diagnostics::Diagnostic> unknown;
  for (const Given& given : site.given) {
    // What could not be read may have been more than one argument.
    if (given.value != nullptr && given.value->is_error()) return std::nullopt;
  }
  for (const Given& given : site.given) {
    if (report_bare_param(given, params, site.scope)) {
      has_error = true;
      continue;
    }
    if (!given.name) {
      if (next++ >= params.size()) {
        if (std::exchange(has_more, true)) continue;
        diagnostics::Diagnostic diagnostic = diag::wrong_argument(
            given.span, "`" + callee + "` takes " + count_text(params.size(), "argument") + ", this is one more");
        if (callee == "arange")
          diagnostic.help(
              "it counts from 0 in steps of 1: from `a` in steps of `s`, `n` numbers are `a + s * arange(n)`");
        if (const auto advice = diagnostics::advice_of_argument(callee, ""))
          diagnostic.help("{}", std::string(*advice));
        note_own(diagnostic, site);
        if (callee == "log") diagnostic.note("a value is recorded by the statement `log NAME`, or `log NAME = …`");
        cx.report(std::move(diagnostic));
        has_error = true;
        continue;
      }
      if (named != nullptr || bound[next - 1] != nullptr) {
        const bool is_taken = bound[next - 1] != nullptr;
        cx.report(
            diag::wrong_argument(given.span, "an argument that is known by its place stands before those with names")
                .label(is_taken ? bound[next - 1]->name->span : named->name->span, "this one {}",
                       is_taken ? "has the place already" : "has a name")
                .help("`{} = …` says what it is", first_free(params, bound, site.given)));
        has_error = true;
        continue;
      }
      bound[next - 1] = &given;
      continue;
    }
    if (named == nullptr) named = &given;
    const auto param = std::find_if(params.begin(), params.end(),
                                    [&](const ParamInfo& candidate) { return candidate.name == given.name->text; });
    if (param == params.end()) {
      has_error = true;
      // The others are meant for that of the library, too.
      if (!report_unknown_param(given, params, site, callee, unknown)) return std::nullopt;
      continue;
    }
    const size_t index = size_t(param - params.begin());
    if (bound[index] != nullptr) {
      diagnostics::Diagnostic diagnostic =
          diag::wrong_argument(given.name->span, "`" + given.name->text + "` is given twice");
      diagnostic.label(bound[index]->span, "first here");
      if (const auto advice = diagnostics::advice_of_argument(callee, "")) diagnostic.help("{}", std::string(*advice));
      // `split(600, 60, seed = 0)`
      if (params[0].type.kind == Kind::List && next > 1)
        diagnostic.help("`{}` is a list, in brackets: `[{}]`", params[0].name,
                        cx.source_text(source::join(site.given[0].span, bound[index]->span)));
      cx.report(std::move(diagnostic));
      has_error = true;
      continue;
    }
    bound[index] = &given;
  }
  if (unknown) cx.report(std::move(*unknown));
  std::string missing;
  std::optional<std::string_view> advice;
  for (size_t i = 0; i < params.size(); ++i) {
    if (bound[i] != nullptr || params[i].initial != nullptr) continue;
    missing += (missing.empty() ? "`" : ", `") + params[i].name + "`";
    if (!advice) advice = diagnostics::advice_of_argument(callee, params[i].name);
  }
  if (!missing.empty() && !has_error) {
    std::string all;
    for (const ParamInfo& param : params)
      all += (all.empty() ? "" : ", ") + param.name + (param.initial != nullptr ? " = …" : "");
    diagnostics::Diagnostic diagnostic = diag::wrong_argument(site.name_span, "`" + callee + "` needs " + missing);
    diagnostic.note("it takes `{}`", all);
    note_own(diagnostic, site);
    help_left_out(diagnostic, params, bound);
    // Of one that is left out alone, as of a size that is given as a list.
    if (advice && !site.given.empty()) diagnostic.help("{}", std::string(*advice));
    cx.report(std::move(diagnostic));
    has_error = true;
  }
  if (has_error) {
    // What is given for what cannot be told. Names of series, `monitor = val.loss`, only a callback knows.
    CallSite arguments = site;
    if (site.scope.place != Place::Experiment) look_up_names(cx, [&] { ignore_arguments(arguments); });
    return std::nullopt;
  }
  return bound;
}

Expr default_of(const std::vector<ParamInfo>& params, size_t index, std::vector<Expr>& before, uint32_t module,
                Scope& scope, GivenOnce* once) {
  Context& cx = scope.cx;
  const ParamInfo& param = params[index];
  if (cx.told.broken_defaults.contains(param.initial)) return error_at(param.initial->span);
  std::vector<Local> locals;
  const bool is_library = cx.graph.modules[module].is_library;
  bool rests_on_errors = false;
  const DefaultParams around{params, before, once, !is_library, &rests_on_errors};
  Scope inner{.cx = cx, .module = module, .place = Place::Const, .locals = locals, .default_params = &around};
  Expr value = check_as(*param.initial, param.type, inner, "the default");
  if (is_library) value.span = Span{};
  // What is wrong with a param that is given twice over is wrong with what was given once.
  const auto* name = param.initial->get<ast::NameRef>();
  for (size_t i = 0; name != nullptr && i < before.size(); ++i) {
    if (params[i].name == name->name.text) value.span = before[i].span;
  }
  if (value.type.is_error() && !rests_on_errors) cx.told.broken_defaults.insert(param.initial);
  return value;
}

void check_defaults(const std::vector<ParamInfo>& params, uint32_t module, Scope& scope) {
  if (scope.cx.graph.modules[module].is_library) return;
  std::vector<Expr> before;
  for (size_t i = 0; i < params.size(); ++i) {
    if (params[i].initial != nullptr && !params[i].type.is_error()) default_of(params, i, before, module, scope);
    Expr& stand_in = before.emplace_back(error_at(params[i].span));
    stand_in.type = params[i].type;
  }
}

bool has_broken_param(const std::vector<ParamInfo>& params) {
  return std::any_of(params.begin(), params.end(), [](const ParamInfo& param) { return param.type.is_error(); });
}

void look_up_names(Context& cx, const std::function<void()>& read) {
  diagnostics::Sink found;
  {
    const Aside aside(cx, found);
    read();
  }
  for (const diagnostics::Diagnostic& one : found.reported()) {
    if (one.code == diagnostics::Code::E0301) cx.report(one);
  }
}

namespace {

/// `val.loss` in a hook: a series, of which nobody knows whether the callee takes one.
bool is_series_there(const ast::Expr& value, const Scope& scope) {
  const auto* field = value.get<ast::Field>();
  const auto* role = field != nullptr ? field->base->get<ast::NameRef>() : nullptr;
  return role != nullptr && scope.place == Place::Hook && is_role(role->name.text) &&
         !is_in_scope(role->name.text, scope);
}

}  // namespace

Expr ignore_arguments(CallSite& site) {
  for (const Given& given : site.given) {
    if (!given.checked && given.value != nullptr && !is_word_of_callee(given, site.scope) &&
        !is_series_there(*given.value, site.scope))
      check_expr(*given.value, site.scope);
  }
  return error_at(site.span);
}

}  // namespace ltr::check
