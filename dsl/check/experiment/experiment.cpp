#include "dsl/check/experiment/experiment.h"

#include <algorithm>

#include "dsl/ast/section.h"
#include "dsl/check/declarations/data_logic/data_logic.h"
#include "dsl/check/declarations/declarations.h"
#include "dsl/check/experiment/merged.h"
#include "dsl/check/experiment/settings.h"
#include "dsl/check/experiment/wired.h"
#include "dsl/check/library/library_call.h"
#include "dsl/check/scope/twice.h"
#include "dsl/check/walk.h"
#include "dsl/diagnostics/suggest.h"
#include "runtime/tables/roles.h"

namespace ltr::check {

namespace {

std::optional<Expr> check_wired(const std::string& what, Kind kind, const Merged& merged, const ast::Experiment& ast,
                                Scope& scope) {
  Context& cx = scope.cx;
  const auto setting = std::find_if(merged.settings.begin(), merged.settings.end(),
                                    [&](const ast::Setting& candidate) { return candidate.name.text == what; });
  if (setting == merged.settings.end()) {
    if (!merged.is_damaged && !merged.told_missing.contains(what)) {
      const std::string example = what == "data" ? "Digits()" : "Net()";
      cx.report(diag::missing_part(ast.name.span, ast.name.text, what)
                    .help("`{} = {}` in its braces, with the name of a declaration", what, example));
    }
    return std::nullopt;
  }
  Scope there = scope.in_file_of(setting->span);
  const ClosedCall declared{callee_of(setting->value), [&] {
                              const SymbolKind wanted = kind == Kind::Data ? SymbolKind::Data : SymbolKind::Model;
                              std::vector<std::string> names = cx.graph.visible(there.module);
                              std::erase_if(names, [&](const std::string& name) {
                                const Symbol* symbol = cx.graph.find(there.module, name);
                                return symbol == nullptr || symbol->kind != wanted;
                              });
                              return names;
                            }};
  there.closed = &declared;
  Expr value = check_expr(setting->value, there);
  if (value.type.is_error()) {
    // Which data it is can be told all the same, and others read from it.
    const auto* call = setting->value.get<ast::Call>();
    const std::optional<ast::Name> name = call != nullptr ? name_written(*call->callee) : std::nullopt;
    const Symbol* symbol = name ? cx.graph.find(there.module, name->text) : nullptr;
    if (kind == Kind::Data && symbol != nullptr && symbol->kind == SymbolKind::Data)
      scope.data = &object_of(cx, *symbol);
    return std::nullopt;
  }
  if (value.type.kind != kind || !value.is<node::Construct>()) {
    diagnostics::Diagnostic diagnostic = diag::wrong_type(
        value.span, "`" + what + "` is built here, `" + what + " = NAME(…)`, and this is " + cx.text(value.type));
    if (const auto* text = value.get<node::StrConst>(); text != nullptr && !text->text.empty())
      diagnostic.help("without quotes: `{}()`", text->text);
    cx.report(std::move(diagnostic));
    return std::nullopt;
  }
  return value;
}

/// What is built under `what`, by the name that is called there; null if it is none.
const Symbol* built_as(const std::string& what, const Merged& merged, const Scope& scope) {
  const auto setting = std::ranges::find(merged.settings, what, [](const ast::Setting& one) { return one.name.text; });
  const auto* call = setting != merged.settings.end() ? setting->value.get<ast::Call>() : nullptr;
  const std::optional<ast::Name> name = call != nullptr ? name_written(*call->callee) : std::nullopt;
  return name ? scope.cx.graph.find(scope.in_file_of(setting->span).module, name->text) : nullptr;
}

/// E0313, once, of `data` and `model` that stand in each other's place. False if they do not.
bool report_exchanged(const Merged& merged, Scope& scope) {
  const Symbol *data = built_as("data", merged, scope), *model = built_as("model", merged, scope);
  if (data == nullptr || model == nullptr || data->kind != SymbolKind::Model || model->kind != SymbolKind::Data)
    return false;
  const auto place_of = [&](const std::string& what) {
    return std::ranges::find(merged.settings, what, [](const ast::Setting& one) { return one.name.text; })->name.span;
  };
  scope.cx.report(diag::wrong_type(place_of("data"), "`data` and `model` are exchanged")
                      .label(place_of("model"), "`{}` is data", model->name)
                      .help("`data = {}(…)` and `model = {}(…)`", model->name, data->name));
  return true;
}

/// What is set keeps the rules of all hparams.
void check_rules(Context& cx, const Experiment& experiment) {
  const Object none;
  std::vector<std::string> names;
  for (const auto& [name, value] : experiment.sets) names.push_back(name);
  for (const size_t index : rules_about(names, cx.program)) {
    const Hparam& hparam = cx.program.hparams[index];
    const Wired rule = wire(cx.at(*hparam.where), none, {}, experiment, cx.program);
    const auto holds = evaluate(rule.expr, cx.program);
    const auto by_default = evaluate(cx.at(*hparam.where), cx.program);
    // A default that breaks its rule has been reported.
    if (!holds || holds->whole != 0 || (by_default && by_default->whole == 0)) continue;
    auto set = std::find_if(experiment.sets.begin(), experiment.sets.end(),
                            [&](const auto& one) { return one.first == hparam.name; });
    if (set == experiment.sets.end()) set = std::prev(experiment.sets.end());
    cx.report(diag::where_not_satisfied(set->second.span, hparam.where_text,
                                        "`" + set->first + "` is set to " + cx.source_text(set->second.span))
                  .label(cx.at(*hparam.where).span, "the rule"));
  }
}

/// Reports what a setting that is read before any file is opened asks of the data.
void refuse_data(const ExprView& setting, Context& cx) {
  if (setting.is<node::DataMember>()) {
    cx.report(diag::wrong_place(setting.span, "what the data holds is known once its files are open")
                  .note("trainer, tags, callbacks and loggers are set before; `data` and `model` may be given it"));
    return;
  }
  for_each_child(setting, [&](ExprId child) { refuse_data(cx.at(child), cx); });
}

/// Reports blocks that are built where no model keeps their weights.
void refuse_blocks(const ExprView& given, Context& cx) {
  if (given.is<node::Construct>() && given.type.kind == Kind::Block) {
    cx.report(
        diag::wrong_place(given.span, "a block is built in a model, or given to one: nobody else keeps its weights"));
    return;
  }
  for_each_child(given, [&](ExprId child) { refuse_blocks(cx.at(child), cx); });
}

/// Settings that stand in the experiment itself. A part that one was meant to be is noted in `merged`.
void check_unknown_settings(Context& cx, const ast::Experiment& ast, Merged& merged) {
  static const std::vector<std::string> kFields(ast::kExperimentParts.begin(), ast::kExperimentParts.end());
  check_twice(cx, ast.settings);
  check_twice(cx, ast.sets);
  for (const ast::Section& section : ast.sections) check_twice(cx, section.settings);
  for_each_twice(ast.sections, [&](const ast::Section& one, const ast::Section& first) {
    if (!one.adds) cx.report(diag::setting_twice(one.name.span, one.name.text).label(first.name.span, "first here"));
  });
  for (const ast::Setting& setting : ast.settings) {
    if (std::find(kFields.begin(), kFields.end(), setting.name.text) != kFields.end()) continue;
    diagnostics::Diagnostic diagnostic = diag::unknown_setting(setting.name.span, "an experiment", setting.name.text);
    const auto& trainer = settings_of("trainer");
    const bool is_trainers =
        std::any_of(trainer.begin(), trainer.end(), [&](const auto& info) { return info.name == setting.name.text; });
    if (is_trainers) {
      diagnostic.help("it stands in the trainer: `trainer { {} }`", cx.source_text(setting.span));
    } else if (cx.program.hparam_at.contains(setting.name.text)) {
      const Span before = {setting.name.span.source, setting.name.span.begin, setting.name.span.begin};
      diagnostic.help("an hparam is set: `set {}`", cx.source_text(setting.span)).fix(before, "set ");
    } else if (ast::section_info(setting.name.text).kind != ast::SectionKind::Error) {
      diagnostic.help("it is a section: `{} { … }`", setting.name.text);
      merged.told_missing.insert(setting.name.text);
    } else if (setting.name.text == "optimizer") {
      diagnostic.help("a model has it, with what it moves: `optimizer opt = Adam(net.weights, lr = 1e-3)`");
    } else if (did_you_mean(diagnostic, setting.name.text, setting.name.span, kFields) && !diagnostic.fixes.empty()) {
      merged.told_missing.insert(diagnostic.fixes[0].replacement);
    } else {
      note_known(diagnostic, kFields);
    }
    cx.report(std::move(diagnostic));
  }
}

/// `set name = value`; what is set keeps the rules of all hparams.
void check_sets(const Merged& merged, Experiment& typed, Scope& scope) {
  Context& cx = scope.cx;
  const resolve::Module& module = cx.graph.modules[scope.module];
  for (const ast::Setting& set : merged.sets) {
    const Hparam* hparam = cx.program.find_hparam(set.name.text);
    if (hparam == nullptr) {
      const auto broken = module.symbols.find(set.name.text);
      if (broken != module.symbols.end() && broken->second.kind == SymbolKind::Error) continue;
      std::vector<std::string> names;
      for (const Hparam& candidate : cx.program.hparams) names.push_back(candidate.name);
      diagnostics::Diagnostic diagnostic = diag::set_unknown(set.name.span, set.name.text);
      if (!did_you_mean(diagnostic, set.name.text, set.name.span, names)) note_there_are(diagnostic, names);
      cx.report(std::move(diagnostic));
      continue;
    }
    const Type type = hparam->type;
    Scope there = scope.in_file_of(set.span);
    Expr value = check_as(set.value, type, there, ("`" + set.name.text + "`").c_str());
    if (!value.type.is_error()) typed.sets.emplace_back(set.name.text, std::move(value));
  }
  check_rules(cx, typed);
}

void check_topology(const Merged& merged, Experiment& typed, Context& cx) {
  for (const ast::Setting& setting : merged.settings) {
    if (setting.name.text != "topology" || setting.value.is_error()) continue;
    const uint32_t file = cx.graph.module_of(setting.span.source);
    const std::optional<ast::Name> name = name_written(setting.value);
    const Symbol* topology = name ? cx.graph.find(file, name->text, resolve::Space::Topologies) : nullptr;
    if (topology == nullptr) {
      const std::vector<std::string> names = cx.graph.visible(file, resolve::Space::Topologies);
      diagnostics::Diagnostic diagnostic =
          diag::unknown_topology(setting.value.span, "topology", cx.source_text(setting.value.span));
      const std::string written = cx.source_text(setting.value.span);
      if (!help_qualifier(diagnostic, written, setting.value.span, resolve::Space::Topologies, file, cx)) continue;
      if (const auto* text = setting.value.get<ast::StrLiteral>(); text != nullptr && written.size() > 2)
        diagnostic.help("without quotes: `{}`", written.substr(1, written.size() - 2));
      if (diagnostic.helps.empty() && !did_you_mean(diagnostic, written, setting.value.span, names))
        note_there_are(diagnostic, names);
      cx.report(std::move(diagnostic));
      continue;
    }
    if (topology->kind == SymbolKind::Topology) take_topology(cx, *topology, setting.value.span);
    typed.topology = topology->name;
  }
}

/// Whether something ends the run: a misspelt limit is one mistake, not two.
bool check_trainer(const ast::Section& section, Experiment& typed, Scope& scope) {
  bool has_limit = false;
  for (const ast::Setting& setting : section.settings) {
    const std::string& name = setting.name.text;
    Scope there = scope.in_file_of(setting.span);
    auto value = check_setting(setting, settings_of("trainer"), "a trainer", there);
    has_limit = has_limit || !value || name == "epochs" || name == "steps" || name == "max_time";
    if (value) typed.trainer.push_back(std::move(*value));
  }
  return has_limit;
}

/// What the rest of an experiment asks of its sections.
struct Sections {
  const ast::Section* sweep = nullptr;
  bool has_limit = false;
  bool lacks_callback = false;  ///< one that may log could not be read: what is missing may be of it
};

/// The sections of an experiment; the one of its sweep, if it has one, is given back.
Sections check_sections(const Merged& merged, Experiment& typed, Scope& scope) {
  Sections sections;
  for (const ast::Section& section : merged.sections) {
    switch (ast::section_info(section.name.text).kind) {
      case ast::SectionKind::Trainer:
        sections.has_limit = check_trainer(section, typed, scope) || sections.has_limit;
        break;
      case ast::SectionKind::Tags:
        for (const ast::Setting& setting : section.settings) {
          Scope there = scope.in_file_of(setting.span);
          Expr value = check_as(setting.value, Type::of(Kind::Str), there, "a tag");
          if (!value.type.is_error()) typed.tags.push_back({setting.name.text, "str", std::move(value), setting.span});
        }
        break;
      case ast::SectionKind::Serve:
        for (const ast::Setting& setting : section.settings) {
          Scope there = scope.in_file_of(setting.span);
          auto value = check_setting(setting, settings_of("serve"), "`serve`", there);
          if (value) typed.serve.push_back(std::move(*value));
        }
        break;
      case ast::SectionKind::Callbacks:
        sections.lacks_callback |= !check_all_listed(section, "callback", Kind::CallbackValue, scope, typed.callbacks);
        break;
      case ast::SectionKind::Loggers: check_all_listed(section, "logger", Kind::Logger, scope, typed.loggers); break;
      case ast::SectionKind::Sweep: {
        Scope there = scope.in_file_of(section.span);
        typed.sweep = check_sweep(section, there);
        sections.sweep = &section;
        break;
      }
      case ast::SectionKind::Error: break;
    }
  }
  for (const auto& [name, settings] : kSettingsSections) {
    for (const SettingValue& setting : typed.*settings) refuse_data(setting.value, scope.cx);
  }
  for (const auto* calls : {&typed.callbacks, &typed.loggers}) {
    for (const Expr& call : *calls) {
      refuse_data(call, scope.cx);
      refuse_blocks(call, scope.cx);
    }
  }
  return sections;
}

/// What only data and model together can tell.
void check_together(const Expr& data, const Expr& model, const Sections& sections, Experiment& typed, Scope& scope) {
  Context& cx = scope.cx;
  typed.data = data.type.decl;
  typed.model = model.type.decl;
  typed.data_arguments = data.get<node::Construct>()->args;
  typed.model_arguments = model.get<node::Construct>()->args;
  ObjectInfo& object = *find_object(cx, Kind::Model, model.type.decl);
  for (const std::string& name : object.fn_order) {
    FnInfo& fn = *object.fns[name];
    if (object.is_damaged || (scope.data != nullptr && scope.data->is_damaged)) break;
    if (fn.role == FnRole::Step && is_role(name)) bind_step(model, data, fn, typed, scope);
  }
  check_monitors(cx, typed, sections.sweep, sections.lacks_callback);
  check_hook_fields(cx, typed);
  check_hook_optimizers(cx, typed);
  check_shown(cx, typed);
  check_schedules(cx, typed);
  check_windows(cx, typed);
  check_no_batches(cx, typed);
  check_settings_together(cx, typed);
  check_idle_settings(cx, typed);
  check_listed_twice(cx, typed);
  check_taken(cx, typed);
  check_divided_blocks(cx, typed);
  check_padding_rows(cx, typed);
  check_counted_padding(cx, typed);
  check_known_targets(cx, typed);
  check_splits(cx, cx.program.datas[typed.data], &typed);
  check_given_records(cx, cx.program.datas[typed.data], typed);
  check_scaled_batches(cx, typed);
  take_order_as_meant(cx, typed);
  check_compared_choices(cx, typed);
  check_counted_tokens(cx, typed);
  check_callback_models(cx, typed);
  check_hook_sizes(typed, scope);
  check_columns(cx, cx.program.datas[typed.data], typed.data_arguments, typed);
  add_setting_rules(cx, typed);
  list_implied(typed, scope);
}

void check_experiment(Context& cx, uint32_t module, const ast::Experiment& ast) {
  auto merged = merge_amended(cx, module, ast);
  if (!merged) return;
  Experiment typed;
  Scope scope{.cx = cx, .module = module, .place = Place::Experiment, .locals = typed.locals};
  typed.name = ast.name.text;
  typed.span = ast.name.span;
  const size_t first_obligation = cx.program.obligations.size();
  check_unknown_settings(cx, ast, *merged);
  check_sets(*merged, typed, scope);
  const bool are_exchanged = report_exchanged(*merged, scope);
  const auto data = are_exchanged ? std::nullopt : check_wired("data", Kind::Data, *merged, ast, scope);
  if (data) scope.data = find_object(cx, Kind::Data, data->type.decl);
  scope.lost_data = scope.data == nullptr;
  if (data) refuse_blocks(*data, cx);
  const auto model = are_exchanged ? std::nullopt : check_wired("model", Kind::Model, *merged, ast, scope);
  check_topology(*merged, typed, cx);
  const Sections sections = check_sections(*merged, typed, scope);
  if (!sections.has_limit && !ast.amends && !merged->is_damaged && !merged->told_missing.contains("trainer")) {
    const auto trainer = std::find_if(ast.sections.begin(), ast.sections.end(),
                                      [](const ast::Section& section) { return section.name.text == "trainer"; });
    const Span place = trainer != ast.sections.end() ? trainer->name.span : ast.name.span;
    cx.report(diag::no_limit(place).help("say `trainer { epochs = 10 }`, or `steps` or `max_time`"));
  }
  if (data && model) check_together(*data, *model, sections, typed, scope);
  for (size_t i = first_obligation; i < cx.program.obligations.size(); ++i) {
    Obligation& one = cx.program.obligations[i];
    if (one.fate != Fate::AtStart) continue;
    if (!one.of_data) one.of_experiment = typed.name;
    typed.obligations.push_back(one);
  }
  // Without data or model there is nothing that later checks could speak of.
  if (data && model) cx.program.experiments.push_back(std::move(typed));
}

}  // namespace

void check_experiments(Context& cx) {
  for (const ast::Decl& decl : cx.graph.modules[0].ast.decls) {
    if (cx.sink->is_full()) return;
    if (const auto* experiment = decl.get<ast::Experiment>()) check_experiment(cx, 0, *experiment);
    const auto* import = decl.get<ast::Import>();
    for (const ast::Name& name : import != nullptr ? import->names : std::vector<ast::Name>()) {
      const Symbol* symbol = cx.graph.find(0, name.text, resolve::Space::Experiments);
      if (symbol != nullptr && symbol->kind == SymbolKind::Experiment && symbol->module != 0)
        check_experiment(cx, symbol->module, *symbol->decl->get<ast::Experiment>());
    }
  }
}

}  // namespace ltr::check
