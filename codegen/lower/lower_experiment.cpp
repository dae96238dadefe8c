#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <optional>
#include <set>

#include "codegen/ir/text.h"
#include "codegen/lower/body.h"
#include "codegen/lower/obligations.h"
#include "dsl/check/walk.h"

namespace ltr::lower {

using check::Expr;
using check::ExprId;
using check::ExprView;
using ir::OpKind;
using ir::Type;
using ir::TypeKind;
using ir::ValueId;
namespace node = check::node;

namespace {

/// Types that a setting of the command line can have; others go straight from `resolve` to the makers.
bool is_setting(const Type& type) {
  const bool is_whole = type.is(TypeKind::Option) || type.is(TypeKind::List) || type.is(TypeKind::Tuple);
  if (!is_whole) return type.is_host_number() || type.is(TypeKind::Str) || type.is(TypeKind::Value);
  return std::all_of(type.fields.begin(), type.fields.end(),
                     [](const ir::Field& field) { return is_setting(field.type); });
}

ir::Function new_function(const std::string& name, ir::Role role, Type result, ir::Loc loc) {
  ir::Function function;
  function.name = name;
  function.role = role;
  function.result = std::move(result);
  function.loc = loc;
  return function;
}

void set_hparam(Shared& shared, BodyLowerer& lowerer, const check::Hparam& hparam, const Expr* set) {
  lowerer.b.loc = shared.loc(hparam.span);
  const Type type = shared.type(hparam.type);
  std::vector<ValueId> operands = {lowerer.setting(shared.program.exprs[hparam.initial])};
  operands.push_back(set != nullptr ? lowerer.setting(*set) : lowerer.b.none());
  const ValueId value =
      lowerer.b.op(OpKind::DeclareHparam, Type::of(TypeKind::Value), std::move(operands), hparam.name);
  lowerer.b.effect(OpKind::SetHparam, {lowerer.from_value(value, type)}, hparam.name);
}

void add_hparams(const ExprView& expr, const check::Program& program, std::set<std::string>& names) {
  if (const auto* hparam = expr.get<node::Hparam>()) names.insert(hparam->name);
  check::for_each_child(expr, [&](ExprId child) { add_hparams(program.exprs[child], program, names); });
}

ir::Texts hparams_of(const ExprView& expr, const check::Program& program) {
  std::set<std::string> names;
  add_hparams(expr, program, names);
  return {names.begin(), names.end()};
}

/// What a rule compares: `D` and `heads` of `D % heads == 0`.
struct Side {
  std::string text;
  ExprId value;
};

/// The place of `word` in a rule, outside of brackets.
std::optional<size_t> find_word(const std::string& rule, std::string_view word) {
  int depth = 0;
  for (size_t i = 0; i < rule.size(); ++i) {
    if (rule[i] == '(' || rule[i] == '[') ++depth;
    if (rule[i] == ')' || rule[i] == ']') --depth;
    if (depth == 0 && std::string_view(rule).substr(i).starts_with(word)) return i;
  }
  return std::nullopt;
}

/// The two sides of a rule that compares numbers; none of one that is put together of several.
std::vector<Side> sides_of(const check::Obligation& rule, const check::Program& program) {
  const auto* compared = program.exprs[*rule.condition].get<node::Host>();
  if (compared == nullptr || compared->args.size() != 2) return {};
  if (find_word(rule.text, " and ") || find_word(rule.text, " or ")) return {};
  const auto* rest = program.exprs[compared->args[0]].get<node::Host>();
  if (rest != nullptr && rest->op == host::Op::Mod && rule.text.ends_with(" == 0")) compared = rest;
  for (const std::string_view word : {" % ", " == ", " <= ", " >= ", " < ", " > "}) {
    const auto at = find_word(rule.text, word);
    if ((word == " % ") != (compared == rest) || !at) continue;
    const std::string left = rule.text.substr(0, *at);
    std::string right = rule.text.substr(*at + word.size());
    if (compared == rest) right.resize(right.size() - std::string_view(" == 0").size());
    // `a >= b` may have become `b <= a`.
    const bool is_turned = word[1] == '>' && (compared->op == host::Op::Less || compared->op == host::Op::LessEqual);
    std::vector<Side> sides = {{left, compared->args[is_turned ? 1 : 0]}, {right, compared->args[is_turned ? 0 : 1]}};
    // A rule may be asked in another form than it is written: `0 <= size - kernel` of `kernel <= size`.
    const bool is_as_written = std::ranges::all_of(sides, [&](const Side& side) {
      const auto* number = program.exprs[side.value].get<node::IntConst>();
      return number == nullptr || side.text == std::to_string(number->value);
    });
    return is_as_written ? sides : std::vector<Side>();
  }
  return {};
}

/// Declares a setting and gives its final value.
ValueId declare(BodyLowerer& lowerer, const std::string& path, const std::string& type_text, ValueId given) {
  return lowerer.b.op(OpKind::Setting, Type::of(TypeKind::Value), {given}, path, {{"type", type_text}});
}

void declare_all(Shared& shared, BodyLowerer& lowerer, const std::string& section,
                 const std::vector<check::SettingValue>& list) {
  for (const check::SettingValue& setting : list) {
    lowerer.b.loc = shared.loc(setting.span);
    declare(lowerer, section + "." + setting.path, setting.type, lowerer.setting(setting.value));
  }
}

/// Lowers one experiment: four functions, and the table that names them.
class ExperimentLowerer {
 public:
  ExperimentLowerer(Shared& shared, const check::Experiment& experiment)
      : shared_(shared),
        experiment_(experiment),
        data_(shared.objects.at({check::Kind::Data, experiment.data})),
        model_(shared.objects.at({check::Kind::Model, experiment.model})) {
    info_.name = experiment.name;
    info_.data = data_.name;
    info_.model = model_.name;
    info_.data_shown = data_.object->name;
    info_.model_shown = model_.object->name;
    info_.topology = experiment.topology;
    info_.loc = shared.loc(experiment.span);
    info_.resolve = "$resolve_" + experiment.name;
    info_.make_data = "$make_data_" + experiment.name;
    info_.make_model = "$make_model_" + experiment.name;
    info_.list_callbacks = "$list_callbacks_" + experiment.name;
  }

  void run() {
    resolve();
    make_data();
    make_model();
    list_callbacks();
    for (const check::StepBinding& step : experiment_.steps) add_step(step);
    shared_.tables.experiments.push_back(std::move(info_));
  }

  /// For analysis: how the model is made, if it is given blocks.
  void run_given() {
    const check::ExprIds& given = experiment_.model_arguments;
    if (std::any_of(given.begin(), given.end(), [&](ExprId one) { return is_built(at(one)); })) make_model();
  }

 private:
  ExprView at(ExprId id) const { return shared_.program.exprs[id]; }
  bool needs_data(const ExprView& expr) const { return check::needs_data(expr, shared_.program); }

  static std::string slot(const std::string& side, const std::string& param) { return side + "_" + param; }

  void resolve() {
    ir::Function function = new_function(info_.resolve, ir::Role::Resolve, Type::of(TypeKind::Void), info_.loc);
    BodyLowerer lowerer(shared_, function);
    for (const check::Hparam& hparam : shared_.program.hparams) {
      const auto set = std::find_if(experiment_.sets.begin(), experiment_.sets.end(),
                                    [&](const auto& one) { return one.first == hparam.name; });
      set_hparam(shared_, lowerer, hparam, set != experiment_.sets.end() ? &set->second : nullptr);
    }
    for (const check::Hparam& hparam : shared_.program.hparams) {
      if (!hparam.where) continue;
      lowerer.b.loc = shared_.loc(hparam.span);
      lowerer.b.effect(OpKind::CheckHparam, {lowerer.expr(*hparam.where)}, hparam.name);
    }
    for (size_t i = 0; i < experiment_.data_arguments.size(); ++i)
      fill_slot(lowerer, "data", data_, i, at(experiment_.data_arguments[i]));
    for (size_t i = 0; i < experiment_.model_arguments.size(); ++i) {
      const ExprView& given = at(experiment_.model_arguments[i]);
      if (is_built(given)) continue;
      if (needs_data(given)) {
        info_.slots.push_back(
            {slot("model", model_.object->params[i].name), shared_.type(model_.object->params[i].type)});
      } else {
        fill_slot(lowerer, "model", model_, i, given);
      }
    }
    for (const auto& [name, settings] : check::kSettingsSections)
      declare_all(shared_, lowerer, name, experiment_.*settings);
    if (experiment_.sweep) {
      lowerer.b.loc = shared_.loc(experiment_.sweep->span);
      lowerer.b.effect(OpKind::ListCall, {lowerer.setting(*experiment_.sweep)}, "sweep");
    }
    add_obligations(lowerer, false);
    add_rules(lowerer, experiment_.data_rules, "data", data_, false);
    if (!model_needs_data()) add_rules(lowerer, experiment_.model_rules, "model", model_, false);
    lowerer.finish();
    shared_.module.functions.push_back(std::move(function));
  }

  void fill_slot(BodyLowerer& lowerer, const std::string& side, const ObjectRef& ref, size_t index,
                 const ExprView& given) {
    const check::Local& param = ref.object->params[index];
    const Type type = shared_.type(param.type);
    info_.slots.push_back({slot(side, param.name), type});
    put_slot(lowerer, side, param, type, given);
  }

  void put_slot(BodyLowerer& lowerer, const std::string& side, const check::Local& param, const Type& type,
                const ExprView& given) {
    if (!given.span.is_empty()) lowerer.b.loc = shared_.loc(given.span);
    ValueId value = 0;
    if (is_setting(type)) {
      const ValueId final = declare(lowerer, side + "." + param.name, setting_text(param.type), lowerer.setting(given));
      value = lowerer.from_value(final, type);
      check_slot(lowerer, side + "." + param.name, given, value);
    } else {
      value = lowerer.fit(lowerer.expr(given), type);
    }
    lowerer.b.effect(OpKind::SetSlot, {value}, slot(side, param.name), {{"experiment", info_.resolve}});
  }

  /// What is given for a setting that an hparam fills passes the hparam's rule by no other way in.
  void check_slot(BodyLowerer& lowerer, const std::string& path, const ExprView& given, ValueId value) {
    const auto* use = given.get<node::Hparam>();
    if (use == nullptr) return;
    for (const check::Hparam& hparam : shared_.program.hparams) {
      if (hparam.name == use->name && hparam.where)
        lowerer.b.effect(OpKind::CheckSetting, {value}, path, {{"hparam", hparam.name}});
    }
  }

  ValueId read_slot(BodyLowerer& lowerer, const std::string& side, const check::Local& param) {
    return lowerer.b.op(OpKind::ReadSlot, shared_.type(param.type), {}, slot(side, param.name),
                        {{"experiment", info_.resolve}});
  }

  ir::Loc loc_of(const check::Obligation& rule) const {
    return shared_.loc(rule.use.is_empty() ? rule.span : rule.use);
  }

  /// An hparam is shown as such, and a number is its own name.
  bool is_shown(const Side& side) const {
    const auto* hparam = at(side.value).get<node::Hparam>();
    return (hparam == nullptr || hparam->name != side.text) && shared_.type(at(side.value).type).is_host_number() &&
           std::any_of(side.text.begin(), side.text.end(), [](unsigned char c) { return std::isalpha(c) != 0; });
  }

  void add_obligations(BodyLowerer& lowerer, bool with_data) {
    for (const check::Obligation& obligation : distinct_obligations(shared_.program, &experiment_)) {
      if (!obligation.condition || obligation.fate != check::Fate::AtStart) continue;
      if ((obligation.needs_data || needs_data(at(*obligation.condition))) != with_data) continue;
      lowerer.b.loc = loc_of(obligation);
      std::vector<ValueId> operands = {lowerer.expr(*obligation.condition)};
      ir::Texts names;
      for (const Side& side : sides_of(obligation, shared_.program)) {
        if (!is_shown(side)) continue;
        names.push_back(side.text);
        operands.push_back(lowerer.expr(side.value));
      }
      std::vector<ir::Attr> attributes = {{"text", obligation.text},
                                          {"hparams", hparams_of(at(*obligation.condition), shared_.program)}};
      if (!names.empty()) attributes.push_back({"sides", std::move(names)});
      lowerer.b.effect(OpKind::Oblige, std::move(operands), "", std::move(attributes));
    }
  }

  /// A block that a model is given is no setting: it is made with the model, as a member under the param's name.
  bool is_built(const ExprView& given) const { return check::builds_blocks(given, shared_.program); }

  bool model_needs_data() const {
    return std::any_of(experiment_.model_arguments.begin(), experiment_.model_arguments.end(),
                       [&](ExprId given) { return needs_data(at(given)); });
  }

  /// Rules over the params of `ref`, whose slots are filled.
  void add_rules(BodyLowerer& lowerer, const std::vector<check::Obligation>& rules, const std::string& side,
                 const ObjectRef& ref, bool with_data) {
    lowerer.own_params.clear();
    for (const check::Obligation& rule : rules) {
      if ((rule.needs_data || needs_data(at(*rule.condition))) != with_data) continue;
      std::set<std::string> paths;
      add_paths(at(*rule.condition), side, paths);
      lowerer.b.loc = loc_of(rule);
      for (const check::Local& param : ref.object->params) {
        if (paths.contains(side + "." + param.name)) lowerer.own_params[param.name] = read_slot(lowerer, side, param);
      }
      lowerer.b.effect(OpKind::ObligeSettings, {lowerer.expr(*rule.condition)}, "",
                       {{"text", rule.text}, {"settings", ir::Texts{paths.begin(), paths.end()}}});
    }
    lowerer.own_params.clear();
  }

  /// The settings that `expr` reads: own params are those of `side`.
  void add_paths(const ExprView& expr, const std::string& side, std::set<std::string>& paths) const {
    const auto* own = expr.get<node::Member>();
    if (own != nullptr && own->is_param && at(own->object).is<node::Self>()) paths.insert(side + "." + own->name);
    const auto* delivered = expr.get<node::DataMember>();
    if (delivered != nullptr && delivered->is_param) paths.insert("data." + delivered->name);
    check::for_each_child(expr, [&](ExprId child) { add_paths(at(child), side, paths); });
  }

  void make_data() {
    ir::Function function = new_function(info_.make_data, ir::Role::MakeData, data_.type(), info_.loc);
    BodyLowerer lowerer(shared_, function);
    lowerer.b.loc = info_.loc;
    std::vector<ValueId> args;
    for (const check::Local& param : data_.object->params) args.push_back(read_slot(lowerer, "data", param));
    lowerer.b.effect(OpKind::Return, {lowerer.b.op(OpKind::Construct, data_.type(), std::move(args), data_.name)});
    shared_.module.functions.push_back(std::move(function));
  }

  void make_model() {
    ir::Function function = new_function(info_.make_model, ir::Role::MakeModel, model_.type(), info_.loc);
    BodyLowerer lowerer(shared_, function);
    lowerer.b.loc = info_.loc;
    lowerer.data = lowerer.b.param(data_.type(), "data");
    const ValueId root = lowerer.b.param(Type::of(TypeKind::Scope), "root");
    add_obligations(lowerer, true);
    std::vector<ValueId> args = {root, lowerer.b.op(OpKind::ReadContext, Type::of(TypeKind::Int), {}, "world")};
    for (size_t i = 0; i < model_.object->params.size(); ++i) {
      const check::Local& param = model_.object->params[i];
      const ExprView& given = at(experiment_.model_arguments[i]);
      if (is_built(given)) {
        lowerer.place = lowerer.b.op(OpKind::Place, Type::of(TypeKind::Scope), {root}, param.name);
        args.push_back(lowerer.expr(given));
        lowerer.place.reset();
        continue;
      }
      if (needs_data(given)) put_slot(lowerer, "model", param, shared_.type(param.type), given);
      args.push_back(read_slot(lowerer, "model", param));
    }
    if (model_needs_data()) add_rules(lowerer, experiment_.model_rules, "model", model_, false);
    add_rules(lowerer, experiment_.model_rules, "model", model_, true);
    lowerer.b.effect(OpKind::Return, {lowerer.b.op(OpKind::Construct, model_.type(), std::move(args), model_.name)});
    shared_.module.functions.push_back(std::move(function));
  }

  void list_callbacks() {
    ir::Function function =
        new_function(info_.list_callbacks, ir::Role::ListCallbacks, Type::of(TypeKind::Void), info_.loc);
    BodyLowerer lowerer(shared_, function);
    for (const Expr& callback : experiment_.callbacks) {
      lowerer.b.loc = shared_.loc(callback.span);
      lowerer.b.effect(OpKind::ListCall, {lowerer.setting(callback)}, "callbacks");
    }
    lowerer.b.loc = {};  // No line lists them.
    for (const Expr& callback : experiment_.implied)
      lowerer.b.effect(OpKind::ListCall, {lowerer.setting(callback)}, "implied");
    for (const Expr& logger : experiment_.loggers) {
      lowerer.b.loc = shared_.loc(logger.span);
      lowerer.b.effect(OpKind::ListCall, {lowerer.setting(logger)}, "loggers");
    }
    lowerer.finish();
    // An amended experiment mostly lists what the other one does.
    function.name.clear();
    const std::string text = ir::print(function, shared_.module.dims);
    const auto [known, is_new] = shared_.lists.emplace(text, info_.list_callbacks);
    info_.list_callbacks = known->second;
    function.name = known->second;
    if (is_new) shared_.module.functions.push_back(std::move(function));
  }

  void add_step(const check::StepBinding& binding) {
    const check::Fn& fn = shared_.program.fns[binding.fn];
    ir::StepInfo step;
    step.name = binding.name;
    step.role = binding.role;
    step.fn = shared_.fn_names[binding.fn];
    step.fields = binding.fields;
    step.random = fn.draws_random;
    step.is_manual = fn.is_manual;
    step.loc = shared_.loc(fn.span);
    if (fn.result.kind == check::Kind::Record) {
      for (const check::TypeField& field : fn.result.fields) step.outputs.push_back(field.name);
    }
    for (size_t i = 0; i < binding.fields.size(); ++i) {
      if (binding.fields[i] >= 0) continue;
      const check::Local& param = fn.locals[i];
      const Type type = shared_.type(param.type);
      const bool has_default = i < binding.defaults.size() && binding.defaults[i].has_value();
      step.params.push_back({param.name,
                             type.is_tensor() ? ir::to_text(type, shared_.module.dims) : setting_text(param.type),
                             has_default ? constant_text(*binding.defaults[i]) : "", type,
                             has_default ? shared_.loc(binding.defaults[i]->span) : step.loc});
    }
    if (const ir::Function* lowered = shared_.module.find(step.fn)) {
      Effects effects;
      add_effects(*lowered, shared_.module, effects);
      step.logs.assign(effects.logs.begin(), effects.logs.end());
      step.minimizes = effects.minimizes;
      step.random = step.random || effects.draws_random;
      note_updates(*lowered, step);
    }
    info_.steps.push_back(std::move(step));
  }

  std::string constant_text(const ExprView& expr) const {
    if (const auto* number = expr.get<node::IntConst>()) return std::to_string(number->value);
    if (const auto* flag = expr.get<node::BoolConst>()) return flag->value ? "true" : "false";
    if (const auto* text = expr.get<node::StrConst>()) return text->text;
    if (const auto* word = expr.get<node::Symbol>()) return word->text;
    if (expr.is<node::NoneConst>()) return "none";
    if (const auto* list = expr.get<node::List>()) return "[" + constant_texts(list->elements) + "]";
    if (const auto* tuple = expr.get<node::Tuple>()) return "(" + constant_texts(tuple->elements) + ")";
    if (const auto* converted = expr.get<node::Convert>()) return constant_text(at(converted->value));
    const std::string written(shared_.sources.text(expr.span));
    if (const auto* number = expr.get<node::FloatConst>()) return float_text(number->value, written);
    return written;
  }

  /// As it is written, or as it was computed.
  static std::string float_text(double value, const std::string& written) {
    double read = 0;
    const char* end = written.data() + written.size();
    if (const auto [rest, fault] = std::from_chars(written.data(), end, read); fault == std::errc() && rest == end)
      return written;
    std::array<char, 32> digits;
    return {digits.data(), std::to_chars(digits.data(), digits.data() + digits.size(), value).ptr};
  }

  std::string constant_texts(const check::ExprIds& elements) const {
    std::string texts;
    for (const check::ExprId element : elements) {
      const bool is_text = at(element).is<node::StrConst>();
      const std::string one = constant_text(at(element));
      texts += (texts.empty() ? "" : ", ") + (is_text ? '"' + one + '"' : one);
    }
    return texts;
  }

  Shared& shared_;
  const check::Experiment& experiment_;
  const ObjectRef& data_;
  const ObjectRef& model_;
  ir::ExperimentInfo info_;
};

}  // namespace

void lower_hparams(Shared& shared) {
  if (shared.program.hparams.empty()) return;
  for (const check::Hparam& hparam : shared.program.hparams) {
    ir::HparamInfo info{hparam.name, shared.type(hparam.type), setting_text(hparam.type), hparam.doc, hparam.where_text,
                        "",          shared.loc(hparam.span)};
    if (hparam.where) {
      info.fits = "$fits_" + hparam.name;
      ir::Function fits = new_function(info.fits, ir::Role::Fits, Type::of(TypeKind::Bool), info.loc);
      BodyLowerer lowerer(shared, fits);
      lowerer.b.loc = info.loc;
      lowerer.b.effect(OpKind::SetHparam, {lowerer.b.param(info.type, "value")}, hparam.name);
      lowerer.b.effect(OpKind::Return, {lowerer.expr(*hparam.where)});
      shared.module.functions.push_back(std::move(fits));
    }
    shared.tables.hparams.push_back(std::move(info));
  }
  shared.tables.defaults = "$default_hparams";
  ir::Function defaults = new_function(shared.tables.defaults, ir::Role::Defaults, Type::of(TypeKind::Void), {});
  BodyLowerer lowerer(shared, defaults);
  for (const check::Hparam& hparam : shared.program.hparams) {
    lowerer.b.loc = shared.loc(hparam.span);
    lowerer.b.effect(OpKind::SetHparam, {lowerer.fit(lowerer.expr(hparam.initial), shared.type(hparam.type))},
                     hparam.name);
  }
  lowerer.finish();
  shared.module.functions.push_back(std::move(defaults));
}

void lower_topologies(Shared& shared) {
  for (const check::Topology& topology : shared.program.topologies) {
    const ir::Loc loc = shared.loc(topology.span);
    ir::Function function =
        new_function("$topology_" + topology.name, ir::Role::Resolve, Type::of(TypeKind::Void), loc);
    BodyLowerer lowerer(shared, function);
    declare_all(shared, lowerer, "topology", topology.settings);
    lowerer.finish();
    shared.tables.topologies.push_back({topology.name, function.name, loc});
    shared.module.functions.push_back(std::move(function));
  }
}

void lower_given_blocks(Shared& shared) {
  for (const check::Experiment& experiment : shared.program.experiments) {
    try {
      ExperimentLowerer(shared, experiment).run_given();
    } catch (const ir::InternalError&) {
      // What stands between errors may be of any form.
      if (!shared.options.has_errors) throw;
    }
  }
}

void lower_experiments(Shared& shared) {
  for (const check::Experiment& experiment : shared.program.experiments) {
    ExperimentLowerer(shared, experiment).run();
  }
}

}  // namespace ltr::lower
