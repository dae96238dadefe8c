#include "dsl/check/experiment/experiment.h"

#include <algorithm>

#include "dsl/ast/section.h"
#include "dsl/check/declarations/data_logic/data_logic.h"
#include "dsl/check/declarations/declarations.h"
#include "dsl/check/experiment/settings.h"
#include "dsl/check/experiment/wired.h"
#include "dsl/check/library/library_call.h"
#include "dsl/check/walk.h"
#include "dsl/diagnostics/suggest.h"

namespace ltr::check {

namespace {

/// The experiment with what it amends written into it.
struct Merged {
  bool is_damaged = false;  ///< what is missing may stand where it could not be read
  std::vector<ast::Setting> settings;
  std::vector<ast::Setting> sets;
  std::vector<ast::Section> sections;
};

std::optional<Merged> merge_amended(Context& cx, uint32_t module, const ast::Experiment& experiment,
                                    std::set<Span> seen) {
  Merged result;
  if (!seen.insert(experiment.name.span).second) {
    // Reported once, at the first of the circle.
    if (experiment.name.span == *seen.begin())
      cx.report(diag::amends_cycle(experiment.name.span, experiment.name.text));
    return std::nullopt;
  }
  if (experiment.amends) {
    const Symbol* base = cx.graph.find(module, experiment.amends->text, resolve::Space::Experiments);
    if (base != nullptr && base->kind == SymbolKind::Error) return std::nullopt;
    if (base == nullptr) {
      const std::vector<std::string> names = cx.graph.visible(module, resolve::Space::Experiments);
      diagnostics::Diagnostic diagnostic =
          diag::unknown_topology(experiment.amends->span, "experiment", experiment.amends->text);
      if (!did_you_mean(diagnostic, experiment.amends->text, experiment.amends->span, names))
        note_there_are(diagnostic, names);
      cx.report(std::move(diagnostic));
      return std::nullopt;
    }
    auto merged = merge_amended(cx, base->module, *base->decl->get<ast::Experiment>(), seen);
    if (!merged) return std::nullopt;
    result = std::move(*merged);
  }
  const auto& experiments = cx.graph.modules[module].experiments;
  const auto own = experiments.find(experiment.name.text);
  result.is_damaged =
      result.is_damaged || own == experiments.end() || own->second.decl == nullptr || own->second.decl->is_damaged;
  put(result.settings, experiment.settings);
  put(result.sets, experiment.sets);
  for (const ast::Section& section : experiment.sections) {
    const auto same = std::find_if(result.sections.begin(), result.sections.end(),
                                   [&](const ast::Section& other) { return other.name.text == section.name.text; });
    if (same == result.sections.end()) {
      result.sections.push_back(section);
    } else if (ast::section_info(section.name.text).amends == ast::Amends::Over) {
      put(same->settings, section.settings);
    } else if (section.adds) {
      same->values.insert(same->values.end(), section.values.begin(), section.values.end());
    } else {
      *same = section;
    }
  }
  return result;
}

/// "{epoch:03}-{val.acc:.3}" is filled in by the callback, with values of its time.
std::optional<Expr> filename_pattern(const ast::Expr& value, const Context& cx) {
  const auto* text = value.get<ast::StrLiteral>();
  if (text == nullptr) return std::nullopt;
  std::string pattern;
  for (const ast::StrPart& part : text->parts) {
    if (!part.value) {
      pattern += part.text;
    } else {
      pattern += "{" + cx.source_text((*part.value)->span) + (part.format.empty() ? "" : ":" + part.format) + "}";
    }
  }
  return str_const(pattern, value.span);
}

/// `callbacks { … }` and `loggers { … }`: calls of the library or of the program's own callbacks.
std::optional<Expr> check_listed(const ast::Expr& value, const std::string& what, Kind kind, Scope& scope) {
  Context& cx = scope.cx;
  static const std::set<std::string> kLater = {
      "Wandb",     "Comet",  "Jsonl",      "Swa",         "Unfreeze", "SamplePredictions",
      "ImageGrid", "Notify", "SpikeGuard", "StopOnSignal"};
  const auto* call = value.get<ast::Call>();
  const std::optional<ast::Name> name = call != nullptr ? name_written(*call->callee) : std::nullopt;
  if (!name) {
    if (!value.is_error())
      cx.report(diag::wrong_type(value.span, "a " + what + " is wanted here, such as `" +
                                                 (kind == Kind::Logger ? "Csv()" : "LrMonitor()") + "`"));
    return std::nullopt;
  }
  CallSite site{name->text, name->span, value.span, {}, scope};
  site.given = given_of(*call);
  for (Given& given : site.given) {
    if (given.name && given.name->text == "filename") given.checked = filename_pattern(*given.value, cx);
  }
  const Symbol* symbol = cx.graph.find(scope.module, name->text);
  if (symbol != nullptr && symbol->kind == SymbolKind::Op && fn_of(cx, *symbol).result.kind == kind) {
    Expr result = call_op(fn_of(cx, *symbol), site);
    if (result.type.is_error()) return std::nullopt;
    return result;
  }
  if (symbol != nullptr && symbol->kind == SymbolKind::Callback && kind == Kind::CallbackValue) {
    ObjectInfo& object = object_of(cx, *symbol);
    complete(cx, object);
    const auto bound = bind_arguments(object.params, site, object.name);
    if (!bound) return std::nullopt;
    node::Call call{.name = object.name, .op = library::Id::None, .args = {}};
    for (size_t i = 0; i < object.params.size(); ++i) {
      const ParamInfo& param = object.params[i];
      const std::string label = "`" + param.name + "`";
      Expr arg = (*bound)[i] != nullptr ? check_given_as(*(*bound)[i], param.type, scope, label.c_str())
                                        : check_as(*param.initial, param.type, scope, "the default");
      if (arg.type.is_error()) return std::nullopt;
      call.args.push_back({param.name, cx.keep(std::move(arg))});
    }
    return Expr{Type::of(Kind::CallbackValue), value.span, std::move(call)};
  }
  if (symbol != nullptr && symbol->kind == SymbolKind::Error) return std::nullopt;
  if (kLater.contains(name->text)) {
    cx.report(diag::not_in_this_version(name->span, "the " + what + " `" + name->text + "`"));
    return std::nullopt;
  }
  std::vector<std::string> known;
  for (const std::string& candidate : resolve::LibraryIndex::get().names(what + "s/")) known.push_back(candidate);
  for (const std::string& candidate : cx.graph.visible(scope.module)) {
    const Symbol* other = cx.graph.find(scope.module, candidate);
    if (other != nullptr && other->kind == SymbolKind::Callback && kind == Kind::CallbackValue)
      known.push_back(candidate);
  }
  diagnostics::Diagnostic diagnostic = diag::unknown_callback(name->span, what, name->text);
  if (!did_you_mean(diagnostic, name->text, name->span, known)) note_there_are(diagnostic, known);
  cx.report(std::move(diagnostic));
  return std::nullopt;
}

void check_all_listed(const ast::Section& section, const std::string& what, Kind kind, Scope& scope,
                      std::vector<Expr>& into) {
  for (const ast::Expr& value : section.values) {
    Scope there = scope.in_file_of(value.span);
    if (auto listed = check_listed(value, what, kind, there)) into.push_back(std::move(*listed));
  }
}

/// Binds a step's params to the fields of the wired data.
void bind_step(const ExprView& model, const ExprView& data, FnInfo& fn, Experiment& experiment, Scope& scope) {
  Context& cx = scope.cx;
  const ObjectInfo& wired = *find_object(cx, Kind::Data, data.type.decl);
  const std::vector<StreamDecl>& streams = cx.program.datas[wired.index].streams;
  StepBinding binding;
  binding.name = fn.name;
  binding.role = fn.name;
  binding.fn = fn.index;
  std::vector<const StreamDecl*> own;
  for (const StreamDecl& stream : streams) {
    if (stream.role == fn.name) own.push_back(&stream);
  }
  if (fn.name == "train" && own.empty() && !streams.empty()) {
    cx.report(diag::no_stream(data.span, wired.name, "train").label(fn.ast->name.span, "step train needs one"));
    return;
  }
  for (const ast::Name& name : fn.decodes) {
    const auto member = wired.members.find(name.text);
    if (member != wired.members.end() &&
        (member->second.type.kind == Kind::Vocabulary || member->second.type.is_error()))
      continue;
    std::vector<std::string> known;
    for (const auto& [candidate, info] : wired.members) {
      if (info.type.kind == Kind::Vocabulary) known.push_back(candidate);
    }
    diagnostics::Diagnostic diagnostic = diag::unknown_field(name.span, "data `" + wired.name + "`", name.text);
    diagnostic.label(wired.span, "the experiment wires it")
        .note("`decode` takes a `let` of the data that is a `vocab(…, of = …)`");
    did_you_mean(diagnostic, name.text, name.span, known);
    cx.report(std::move(diagnostic));
  }
  Binding types;
  for (const auto& [atom, value] : model.type.arguments) types.dims[atom] = value;
  std::set<AtomId> free;
  for (const auto& [name, atom] : fn.binders) free.insert(atom);
  for (const ParamInfo& param : fn.params) {
    const auto field = std::find_if(wired.batch.fields.begin(), wired.batch.fields.end(),
                                    [&](const TypeField& candidate) { return candidate.name == param.name; });
    const bool is_delivered =
        field != wired.batch.fields.end() && !own.empty() &&
        std::all_of(own.begin(), own.end(), [&](const StreamDecl* stream) {
          return stream->record.is_error() || std::any_of(stream->record.fields.begin(), stream->record.fields.end(),
                                                          [&](const TypeField& one) { return one.name == param.name; });
        });
    if (!is_delivered) {
      const bool from_flag = param.initial != nullptr || (fn.name == "predict" && own.empty());
      if (!from_flag && !own.empty()) {
        diagnostics::Diagnostic diagnostic = diag::step_wants_field(param.span, fn.name, param.name);
        std::vector<std::string> names;
        for (const TypeField& candidate : wired.batch.fields) names.push_back(candidate.name);
        diagnostic.label(wired.span, "data `{}` is wired to it", wired.name);
        if (const auto near = diagnostics::suggest(param.name, names)) diagnostic.help("did you mean `{}`?", *near);
        cx.report(std::move(diagnostic));
      }
      binding.fields.push_back(-1);
      std::optional<Expr> initial;
      if (param.initial != nullptr) {
        Scope constant{.cx = cx, .module = fn.module, .place = Place::Const, .locals = scope.locals};
        initial = check_as(*param.initial, param.type, constant, "the default");
      }
      binding.defaults.push_back(std::move(initial));
      continue;
    }
    binding.fields.push_back(int(field - wired.batch.fields.begin()));
    binding.defaults.emplace_back();
    Type delivered = instantiate(field->type, data.type.arguments, cx);
    match(param.type, delivered, types, free, param.span, scope,
          "`" + param.name + "`, which data `" + wired.name + "` delivers,", false);
  }
  experiment.steps.push_back(std::move(binding));
}

std::optional<Expr> check_wired(const std::string& what, Kind kind, const Merged& merged, const ast::Experiment& ast,
                                Scope& scope) {
  Context& cx = scope.cx;
  const auto setting = std::find_if(merged.settings.begin(), merged.settings.end(),
                                    [&](const ast::Setting& candidate) { return candidate.name.text == what; });
  if (setting == merged.settings.end()) {
    if (!merged.is_damaged) cx.report(diag::missing_part(ast.name.span, ast.name.text, what));
    return std::nullopt;
  }
  Scope there = scope.in_file_of(setting->span);
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
    cx.report(diag::wrong_type(
        value.span, "`" + what + "` is built here, `" + what + " = NAME(…)`, and this is " + cx.text(value.type)));
    return std::nullopt;
  }
  return value;
}

/// What is `set` keeps the rules of all hparams.
void check_sets(Context& cx, const Experiment& experiment) {
  const Object none;
  for (const Hparam& hparam : cx.program.hparams) {
    if (!hparam.where || experiment.sets.empty()) continue;
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

void check_experiment(Context& cx, uint32_t module_index, const ast::Experiment& ast) {
  const resolve::Module& module = cx.graph.modules[module_index];
  const auto merged = merge_amended(cx, module_index, ast, {});
  if (!merged) return;
  std::vector<Local> locals;
  Scope scope{.cx = cx, .module = module_index, .place = Place::Experiment, .locals = locals};
  Experiment typed;
  typed.name = ast.name.text;
  typed.span = ast.name.span;
  const size_t first_obligation = cx.program.obligations.size();
  static const std::vector<std::string> kFields(ast::kExperimentParts.begin(), ast::kExperimentParts.end());
  check_twice(cx, ast.settings);
  for (const ast::Section& section : ast.sections) {
    check_twice(cx, section.settings);
  }
  for (const ast::Setting& setting : ast.settings) {
    if (std::find(kFields.begin(), kFields.end(), setting.name.text) != kFields.end()) continue;
    diagnostics::Diagnostic diagnostic = diag::unknown_setting(setting.name.span, "an experiment", setting.name.text);
    const auto& trainer = trainer_settings();
    const bool is_trainers =
        std::any_of(trainer.begin(), trainer.end(), [&](const auto& info) { return info.name == setting.name.text; });
    if (is_trainers) {
      diagnostic.help("it stands in the trainer: `trainer { {} }`", cx.source_text(setting.span));
    } else {
      did_you_mean(diagnostic, setting.name.text, setting.name.span, kFields);
    }
    cx.report(std::move(diagnostic));
  }
  for (const ast::Setting& set : merged->sets) {
    const auto hparam = std::find_if(cx.program.hparams.begin(), cx.program.hparams.end(),
                                     [&](const Hparam& candidate) { return candidate.name == set.name.text; });
    if (hparam == cx.program.hparams.end()) {
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
  check_sets(cx, typed);
  const auto data = check_wired("data", Kind::Data, *merged, ast, scope);
  if (data) scope.data = find_object(cx, Kind::Data, data->type.decl);
  if (data) refuse_blocks(*data, cx);
  const auto model = check_wired("model", Kind::Model, *merged, ast, scope);
  for (const ast::Setting& setting : merged->settings) {
    if (setting.name.text != "topology") continue;
    if (setting.value.is_error()) continue;
    const uint32_t file = cx.graph.module_of(setting.span.source);
    const std::optional<ast::Name> name = name_written(setting.value);
    const Symbol* topology = name ? cx.graph.find(file, name->text, resolve::Space::Topologies) : nullptr;
    if (topology == nullptr) {
      const std::vector<std::string> names = cx.graph.visible(file, resolve::Space::Topologies);
      diagnostics::Diagnostic diagnostic =
          diag::unknown_topology(setting.value.span, "topology", cx.source_text(setting.value.span));
      if (!did_you_mean(diagnostic, cx.source_text(setting.value.span), setting.value.span, names))
        note_there_are(diagnostic, names);
      cx.report(std::move(diagnostic));
      continue;
    }
    if (topology->kind == SymbolKind::Topology) take_topology(cx, *topology, setting.value.span);
    typed.topology = topology->name;
  }
  bool has_limit = false;
  const ast::Section* sweep = nullptr;
  for (const ast::Section& section : merged->sections) {
    switch (ast::section_info(section.name.text).kind) {
      case ast::SectionKind::Trainer:
        for (const ast::Setting& setting : section.settings) {
          has_limit = has_limit || setting.name.text == "epochs" || setting.name.text == "steps" ||
                      setting.name.text == "max_time";
          Scope there = scope.in_file_of(setting.span);
          auto value = check_setting(setting, trainer_settings(), "a trainer", there);
          has_limit = has_limit || !value;  // A misspelt limit is one mistake, not two.
          if (value) typed.trainer.push_back(std::move(*value));
        }
        break;
      case ast::SectionKind::Tags:
        for (const ast::Setting& setting : section.settings) {
          Scope there = scope.in_file_of(setting.span);
          Expr value = check_as(setting.value, Type::of(Kind::Str), there, "a tag");
          if (!value.type.is_error()) typed.tags.push_back({setting.name.text, "str", std::move(value), setting.span});
        }
        break;
      case ast::SectionKind::Callbacks:
        check_all_listed(section, "callback", Kind::CallbackValue, scope, typed.callbacks);
        break;
      case ast::SectionKind::Loggers: check_all_listed(section, "logger", Kind::Logger, scope, typed.loggers); break;
      case ast::SectionKind::Sweep: {
        Scope there = scope.in_file_of(section.span);
        typed.sweep = check_sweep(section, there);
        sweep = &section;
        break;
      }
      case ast::SectionKind::Error: break;
    }
  }
  for (const auto* settings : {&typed.trainer, &typed.tags}) {
    for (const SettingValue& setting : *settings) refuse_data(setting.value, cx);
  }
  for (const auto* calls : {&typed.callbacks, &typed.loggers}) {
    for (const Expr& call : *calls) {
      refuse_data(call, cx);
      refuse_blocks(call, cx);
    }
  }
  if (!has_limit && !ast.amends && !merged->is_damaged) {
    cx.report(diag::no_limit(ast.name.span).help("say `trainer { epochs = 10 }`, or `steps` or `max_time`"));
  }
  if (data && model) {
    typed.data = data->type.decl;
    typed.model = model->type.decl;
    typed.data_arguments = data->get<node::Construct>()->args;
    typed.model_arguments = model->get<node::Construct>()->args;
    ObjectInfo& object = *find_object(cx, Kind::Model, model->type.decl);
    for (const std::string& name : object.fn_order) {
      FnInfo& fn = *object.fns[name];
      if (object.is_damaged || (scope.data != nullptr && scope.data->is_damaged)) break;
      const bool is_role = name == "train" || name == "val" || name == "test" || name == "predict";
      if (fn.role == FnRole::Step && is_role) bind_step(*model, *data, fn, typed, scope);
    }
    check_monitors(cx, typed, sweep);
    check_hook_fields(cx, typed);
    check_schedules(cx, typed);
    check_windows(cx, typed);
    check_columns(cx, cx.program.datas[typed.data], typed.data_arguments, typed);
    add_setting_rules(cx, typed);
  }
  for (size_t i = first_obligation; i < cx.program.obligations.size(); ++i) {
    if (cx.program.obligations[i].fate == Fate::AtStart) typed.obligations.push_back(cx.program.obligations[i]);
  }
  // Without data or model there is nothing that later checks could speak of.
  if (data && model) cx.program.experiments.push_back(std::move(typed));
}

}  // namespace

void check_experiments(Context& cx) {
  for (const ast::Decl& decl : cx.graph.modules[0].ast.decls) {
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
