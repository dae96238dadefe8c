#include <algorithm>

#include "dsl/check/declarations/declarations.h"
#include "dsl/check/declarations/hook.h"
#include "dsl/check/declarations/optimizer_rule.h"
#include "dsl/check/experiment/settings.h"
#include "dsl/check/expressions/call.h"
#include "dsl/check/scope/twice.h"
#include "dsl/diagnostics/suggest.h"

namespace ltr::check {

const std::vector<ast::Param>& written_params(const ast::Decl& decl) {
  if (const auto* block = decl.get<ast::Block>()) return block->params;
  if (const auto* model = decl.get<ast::Model>()) return model->params;
  if (const auto* metric = decl.get<ast::Metric>()) return metric->params;
  if (const auto* data = decl.get<ast::Data>()) return data->params;
  return decl.get<ast::Callback>()->params;
}

namespace {

std::vector<Object>* objects_of(Program& program, Kind kind) {
  switch (kind) {
    case Kind::Block: return &program.blocks;
    case Kind::Model: return &program.models;
    case Kind::Metric: return &program.metrics;
    case Kind::CallbackValue: return &program.callbacks;
    default: return nullptr;
  }
}

const std::vector<ast::Item>& items_of(const ast::Decl& decl) {
  if (const auto* block = decl.get<ast::Block>()) return block->items;
  if (const auto* model = decl.get<ast::Model>()) return model->items;
  if (const auto* metric = decl.get<ast::Metric>()) return metric->items;
  if (const auto* data = decl.get<ast::Data>()) return data->items;
  return decl.get<ast::Callback>()->items;
}

Kind kind_of(SymbolKind kind) {
  switch (kind) {
    case SymbolKind::Model: return Kind::Model;
    case SymbolKind::Metric: return Kind::Metric;
    case SymbolKind::Data: return Kind::Data;
    case SymbolKind::Callback: return Kind::CallbackValue;
    default: return Kind::Block;
  }
}

struct ObjectChecker {
  Context& cx;
  ObjectInfo& object;
  const ast::Decl& decl;
  Object typed;
  std::vector<std::pair<const ast::Fn*, FnRole>> pending;

  Scope scope() {
    Scope result{.cx = cx, .module = object.module, .place = Place::Member, .owner = &object, .locals = typed.locals};
    if (object.kind == Kind::Data) result.place = Place::Data;
    result.requirements = &object.requirements;
    return result;
  }

  void add(const ast::Name& name, Type type, MemberKind kind, Expr value) {
    if (const auto same = object.members.find(name.text); same != object.members.end()) {
      report_second(cx, name, same->second.span);
      return;
    }
    object.members[name.text] = MemberInfo{type, kind, name.span};
    Member member;
    member.name = name.text;
    member.kind = kind;
    member.type = std::move(type);
    member.value = std::move(value);
    member.span = name.span;
    typed.members.push_back(std::move(member));
  }

  void check_member(const ast::Member& member) {
    Scope inner = scope();
    inner.own_param = member.name.text;
    Expr value = check_expr(member.value, inner);
    MemberKind kind = MemberKind::Let;
    const Type& type = value.type;
    if (type.kind == Kind::Block) kind = MemberKind::Block;
    if (type.kind == Kind::Metric) kind = MemberKind::Metric;
    if (holds_layers(type)) kind = MemberKind::Block;
    std::optional<diagnostics::Diagnostic> unfit;
    if (type.kind == Kind::Model || type.kind == Kind::Data)
      unfit = diag::wrong_type(value.span,
                               std::string(type.kind == Kind::Model ? "a model" : "a data") + " cannot be a member");
    if (type.kind != Kind::Metric && holds_metrics(type))
      unfit = diag::wrong_type(value.span, "metrics are members, each of its own, and not in " + cx.text(type))
                  .help("`{}_1 = …`, `{}_2 = …`", member.name.text, member.name.text);
    if (type.kind == Kind::Optimizer) unfit = undeclared_optimizer(member.name);
    if (type.kind == Kind::Optimizer) object.is_damaged = typed.is_damaged = true;
    if (unfit) cx.report(std::move(*unfit));
    if (unfit) value.type = Type::error();
    add(member.name, value.type, kind, value);
    if (member.source && !typed.members.empty()) typed.members.back().source = check_source(member, value, inner);
  }

  void check_parameter(const ast::Parameter& parameter) {
    Scope inner = scope();
    inner.own_param = parameter.name.text;
    Type type = check_type(parameter.type, inner);
    const Type tensor = type.kind == Kind::Option ? type.fields[0].type : type;
    if (!tensor.is_tensor() && !tensor.is_error()) {
      diagnostics::Diagnostic diagnostic =
          diag::wrong_type(parameter.type.span, "a weight or buffer is a tensor, not " + cx.text(type));
      const std::string element = tensor.kind == Kind::Int ? "i64" : cx.text(tensor);
      if (tensor.is_host_number()) diagnostic.help("one number is `{}[]`, several are `{}[SIZE]`", element, element);
      cx.report(std::move(diagnostic));
      type = Type::error();
    }
    if (!parameter.is_buffer && tensor.is_tensor() && !is_floating(tensor.element)) {
      cx.report(diag::wrong_element(parameter.type.span,
                                    "a weight has floating elements, not " + std::string(to_text(tensor.element)))
                    .help("what is not trained is a `buffer`"));
      type = Type::error();
      typed.is_damaged = true;
    }
    if (tensor.is_tensor()) {
      const std::string text = cx.text(tensor);
      inner.own_dims = text.substr(text.find('[') + 1, text.rfind(']') - text.find('[') - 1);
    }
    Expr value = check_as(parameter.value, type, inner, "the initial value");
    Binding binding;
    if (value.type.is_error() && is_literal(parameter.value)) type = Type::error();
    if (!type.is_error() && !value.type.is_error())
      match(type, value.type, binding, {}, value.span, inner, "the initial value", false);
    if (!parameter.is_buffer && tensor.is_tensor()) require_elements(tensor, parameter.type.span, inner);
    add(parameter.name, type, parameter.is_buffer ? MemberKind::Buffer : MemberKind::Weight, std::move(value));
  }

  void check_let(const ast::Let& let, Span span) {
    Scope inner = scope();
    if (object.kind == Kind::Metric && let.name.text == "better") {
      Type direction = Type::of(Kind::OneOf);
      direction.choices = {"max", "min"};
      const Expr value = check_as(let.value, direction, inner, "the better direction");
      typed.better = text_of(value);
      typed.is_damaged = typed.is_damaged || value.type.is_error();
      return;
    }
    const Type declared = let.type ? check_type(*let.type, inner) : Type::error();
    Expr value = let.type ? check_as(let.value, declared, inner) : check_expr(let.value, inner);
    if (value.type.kind == Kind::Block || value.type.kind == Kind::Metric || holds_layers(value.type)) {
      cx.report(diag::wrong_type(span, "a `let` is a value, and " + cx.text(value.type) + " is built: it is a member")
                    .help("`{} = …`", let.name.text)
                    .fix(Span{span.source, span.begin, let.name.span.begin}, ""));
      value.type = Type::error();
    }
    // Of an int the value says more than its type.
    const bool is_declared = !declared.is_error() && declared.kind != Kind::Int && !value.type.is_error();
    const Type type = is_declared ? declared : value.type;
    add(let.name, type, MemberKind::Let, value);
  }

  void check_state(const ast::State& state) {
    Scope inner = scope();
    Type type = check_type(state.type, inner);
    if (object.kind == Kind::CallbackValue && !type.is_error() && !type.is_host_number() && type.kind != Kind::Str) {
      cx.report(diag::wrong_type(state.type.span, "the state of a callback is an int, float, bool or str"));
      type = Type::error();
    }
    if (object.kind == Kind::Metric && !check_reduce(state, type, cx)) type = Type::error();
    Expr value = check_as(state.value, type, inner, "the initial value");
    if (value.type.is_error() && is_literal(state.value)) type = Type::error();
    add(state.name, type, MemberKind::State, std::move(value));
    if (state.reduce && !typed.members.empty()) typed.members.back().reduce = state.reduce->text;
  }

  /// `rule = AdamW(lr = 1e-3)`, over the weights of the group.
  Expr check_group_rule(const ast::Setting& setting, const Expr& weights, Scope& inner) {
    const auto* call = setting.value.get<ast::Call>();
    if (report_weights_beside(setting.value, 0, object, cx)) return error_at(setting.value.span);
    if (rule_params(setting.value, cx) != nullptr) return check_call(setting.value, *call, inner, weights);
    Expr value = check_rule(setting.value, inner);
    if (!value.type.is_error())
      cx.report(diag::wrong_type(
          value.span,
          "a rule is an optimizer without weights, such as `AdamW(lr = 1e-3)`, not " + cx.text(value.type)));
    return error_at(value.span);
  }

  GroupSettings check_group(const ast::Group& group, const std::vector<ParamInfo>& of_optimizer, const Expr& weights,
                            Scope& inner) {
    GroupSettings result{group.pattern, group.pattern_span, {}, {}};
    std::vector<ast::Setting> settings;
    const std::vector<ParamInfo>* params = &of_optimizer;
    for (const ast::Setting& setting : group.settings) {
      if (setting.name.text != "rule") {
        settings.push_back(setting);
        continue;
      }
      if (const auto* own = rule_params(setting.value, cx)) params = own;
      result.rule = check_group_rule(setting, weights, inner);
    }
    check_twice(cx, group.settings);
    result.settings = check_settings(settings, params, inner);
    return result;
  }

  std::vector<std::pair<std::string, Expr>> check_settings(const std::vector<ast::Setting>& settings,
                                                           const std::vector<ParamInfo>* rule, Scope& inner) {
    std::vector<std::pair<std::string, Expr>> result;
    for (const ast::Setting& setting : settings) {
      const std::string& name = setting.name.text;
      Type wanted;
      std::vector<std::string> known;
      if (rule == nullptr) {
        known = optimizer_settings();
        known.emplace_back("group");
        if (name == "clip_norm" || name == "clip_value") wanted = Type::of(Kind::Float);
      } else {
        for (size_t i = 1; i < rule->size(); ++i) {
          known.push_back((*rule)[i].name);
          if ((*rule)[i].name == name) wanted = (*rule)[i].type;
        }
        known = group_settings(std::move(known));
      }
      if (name == "schedule") wanted = Type::of(Kind::Schedule);
      if (wanted.is_error()) {
        diagnostics::Diagnostic diagnostic =
            diag::unknown_setting(setting.name.span, rule == nullptr ? "an optimizer" : "a group", name);
        note_known(diagnostic, known);
        did_you_mean(diagnostic, name, setting.name.span, known);
        cx.report(std::move(diagnostic));
        continue;
      }
      Expr value = check_as(setting.value, wanted, inner, ("`" + name + "`").c_str());
      if (!value.type.is_error()) result.emplace_back(name, std::move(value));
    }
    return result;
  }

  void check_optimizer(const ast::Optimizer& optimizer) {
    Scope inner = scope();
    if (report_weights_beside(optimizer.value, 1, object, cx)) {
      add(optimizer.name, Type::error(), MemberKind::Optimizer, error_at(optimizer.value.span));
      return;
    }
    Expr value = check_rule(optimizer.value, inner);
    if (!value.type.is_error() && value.type.kind != Kind::Optimizer) {
      cx.report(diag::wrong_type(value.span, "an optimizer is wanted here, such as `AdamW(net.weights, lr = lr)`"));
      value.type = Type::error();
    }
    const std::vector<ParamInfo>* rule = rule_params(optimizer.value, cx);
    const auto* made = value.get<node::Call>();
    const bool has_weights = made != nullptr && !made->args.empty();
    const Expr weights = has_weights ? Expr(cx.at(made->args[0].value)) : error_at(value.span);
    const Type type = value.type.is_error() ? Type::error() : Type::of(Kind::Optimizer);
    add(optimizer.name, type, MemberKind::Optimizer, value);
    check_twice(cx, optimizer.settings);
    std::vector<std::pair<std::string, Expr>> settings = check_settings(optimizer.settings, nullptr, inner);
    std::vector<GroupSettings> groups;
    for (const ast::Group& group : optimizer.groups) {
      if (rule == nullptr || weights.type.is_error()) break;
      groups.push_back(check_group(group, *rule, weights, inner));
    }
    if (typed.members.empty()) return;
    // Which weights a broken rule would have moved, and how, is not known of the optimizer around it.
    const bool is_broken = std::any_of(groups.begin(), groups.end(), [](const GroupSettings& group) {
      return group.rule && group.rule->type.is_error();
    });
    if (is_broken) {
      typed.members.back().value = error_at(value.span);
      object.members.at(optimizer.name.text).type = Type::error();
      return;
    }
    typed.members.back().settings = std::move(settings);
    typed.members.back().groups = std::move(groups);
  }

  void check_init(const ast::Init& init) {
    Scope inner = scope();
    Expr value = check_expr(init.value, inner);
    if (value.type.is_error()) return;
    const auto* op = value.get<node::Op>();
    const bool is_creation = op != nullptr && !op->args.empty() && cx.at(op->args[0]).is<node::List>();
    if (!is_creation) {
      cx.report(diag::wrong_type(
          value.span, "an initialiser is a creation function without its dims, such as `normal(std = 0.02)`"));
      return;
    }
    typed.inits.push_back({init.pattern, std::move(value), init.pattern_span});
  }

  void declare_fn(const std::string& name, const ast::Fn& fn, FnRole role, bool is_manual, Span span) {
    const auto same = object.fns.find(name);
    const auto member = object.members.find(name);
    if (same != object.fns.end() || member != object.members.end()) {
      report_second(cx, {name, span}, same != object.fns.end() ? same->second->span : member->second.span);
      return;
    }
    auto info = std::make_unique<FnInfo>();
    info->name = name;
    info->span = span;
    info->ast = &fn;
    info->module = object.module;
    info->owner = &object;
    info->role = role;
    info->is_manual = is_manual;
    info->index = uint32_t(cx.program.fns.size());
    cx.program.fns.emplace_back();
    cx.program.fns.back().name = name;
    typed.fns.push_back(info->index);
    object.fn_order.push_back(name);
    object.fns[name] = std::move(info);
  }

  void declare_hook(const ast::Hook& hook) {
    if (find_hook(hook.name.text) == nullptr) {
      diagnostics::Diagnostic diagnostic = diag::unknown_hook(hook.name.span, hook.name.text);
      std::vector<std::string> known;
      for (const Hook& one : hooks()) known.emplace_back(one.name);
      if (!did_you_mean(diagnostic, hook.name.text, hook.name.span, known)) {
        const std::vector<std::string> longer = diagnostics::longer_forms(hook.name.text, known);
        note_there_are(diagnostic, longer.empty() ? known : longer);
      }
      cx.report(std::move(diagnostic));
      typed.is_damaged = true;
      return;
    }
    ast::Fn fn;
    fn.name = hook.name;
    fn.body = hook.body;
    fn.has_body = true;
    cx.declared.synthetic.push_back(std::move(fn));
    declare_fn(hook.name.text, cx.declared.synthetic.back(), FnRole::Hook, false, hook.name.span);
  }

  void declare_fns() {
    for (const ast::Item& item : items_of(decl)) {
      if (const auto* fn = item.get<ast::Fn>()) {
        FnRole role = FnRole::Method;
        if (report_foreign_method(*fn, object, cx)) {
          typed.is_damaged = true;
          continue;
        }
        if (object.kind == Kind::Metric && fn->name.text == "update") role = FnRole::MetricUpdate;
        if (object.kind == Kind::Metric && fn->name.text == "compute") role = FnRole::MetricCompute;
        if (object.kind == Kind::Metric && fn->name.text == kComputeEach) role = FnRole::MetricEach;
        declare_fn(fn->name.text, *fn, role, false, fn->name.span);
      } else if (const auto* hook = item.get<ast::Hook>()) {
        declare_hook(*hook);
      } else if (const auto* step = item.get<ast::Step>()) {
        const ast::Fn* body = &step->fn;
        if (step->copy_of) {
          const auto original = object.fns.find(step->copy_of->text);
          if (original == object.fns.end() || original->second->role != FnRole::Step) {
            if (is_told_of_steps(object, step->copy_of->text)) continue;
            diagnostics::Diagnostic diagnostic = diag::unknown_name(step->copy_of->span, step->copy_of->text);
            std::vector<std::string> steps;
            for (const auto& [name, fn] : object.fns) {
              if (fn->role == FnRole::Step) steps.push_back(name);
            }
            did_you_mean(diagnostic, step->copy_of->text, step->copy_of->span, steps);
            cx.report(std::move(diagnostic.note("a step is copied from one above it")));
            object.is_damaged = typed.is_damaged = true;
            continue;
          }
          body = original->second->ast;
        }
        declare_fn(step->fn.name.text, *body, FnRole::Step, step->is_manual, step->fn.name.span);
      }
    }
  }

  void check_members() {
    for (const ast::Item& item : items_of(decl)) {
      if (const auto* broken = item.get<ast::ErrorItem>()) take_lost_members(*broken, object);
      if (const auto* m = item.get<ast::Member>()) check_member(*m);
      if (const auto* m = item.get<ast::Parameter>()) check_parameter(*m);
      if (const auto* m = item.get<ast::Let>()) check_let(*m, item.span);
      if (const auto* m = item.get<ast::State>()) check_state(*m);
      if (const auto* m = item.get<ast::Optimizer>()) check_optimizer(*m);
      if (const auto* m = item.get<ast::Init>()) check_init(*m);
    }
  }
};

}  // namespace

ObjectInfo* find_object(Context& cx, Kind kind, DeclIndex index) {
  const auto found = cx.declared.objects_of_kind.find({kind, index});
  if (found == cx.declared.objects_of_kind.end()) return nullptr;
  // A type may name what nothing has built yet.
  complete(cx, *found->second);
  return found->second;
}

ObjectInfo& object_of(Context& cx, const Symbol& symbol) {
  std::unique_ptr<ObjectInfo>& place = cx.declared.objects[symbol.decl];
  if (place != nullptr) return *place;
  place = std::make_unique<ObjectInfo>();
  ObjectInfo& object = *place;
  object.decl = symbol.decl;
  object.kind = kind_of(symbol.kind);
  object.name = cx.graph.shown(symbol);
  object.module = symbol.module;
  object.span = symbol.span;
  object.is_damaged = symbol.decl->is_damaged;
  if (object.kind == Kind::Data) {
    object.index = DeclIndex(cx.program.datas.size());
    cx.program.datas.emplace_back();
  } else {
    std::vector<Object>& list = *objects_of(cx.program, object.kind);
    object.index = DeclIndex(list.size());
    list.emplace_back();
  }
  cx.declared.objects_of_kind[{object.kind, object.index}] = &object;
  std::vector<Local> locals;
  Scope scope{.cx = cx, .module = symbol.module, .place = Place::Member, .locals = locals};
  object.params = check_params(cx, written_params(*symbol.decl), functions_of(items_of(*symbol.decl)), scope);
  return object;
}

void complete(Context& cx, ObjectInfo& object) {
  if (!object.is_done && !object.is_checking) check_block_like(cx, object, *object.decl);
}

void check_block_like(Context& cx, ObjectInfo& object, const ast::Decl& decl) {
  object.is_checking = true;
  ObjectChecker checker{cx, object, decl, {}, {}};
  Object& typed = checker.typed;
  typed.name = object.name;
  typed.module = cx.graph.modules[object.module].path;
  typed.is_library = cx.graph.modules[object.module].is_library;
  typed.is_damaged = object.is_damaged;
  typed.doc = decl.doc;
  typed.span = object.span;
  for (const ParamInfo& param : object.params) {
    typed.params.push_back({param.name, param.type});
    typed.locals.push_back({param.name, param.type});
    typed.defaults.emplace_back();
  }
  Scope defaults = checker.scope();
  check_defaults(object.params, object.module, defaults);
  if (const auto* callback = decl.get<ast::Callback>(); callback != nullptr && callback->model) {
    const Symbol* model = cx.graph.find(object.module, callback->model->text);
    if (model == nullptr || model->kind != SymbolKind::Model) {
      std::vector<std::string> models;
      for (const auto& [name, symbol] : cx.graph.modules[object.module].symbols) {
        if (symbol.kind == SymbolKind::Model) models.push_back(name);
      }
      diagnostics::Diagnostic diagnostic = diag::unknown_name(callback->model->span, callback->model->text);
      const bool is_new = help_qualifier(diagnostic, callback->model->text, callback->model->span,
                                         resolve::Space::Symbols, object.module, cx);
      if (diagnostic.helps.empty() && !help_of_module(diagnostic, *callback->model, object.module, cx))
        did_you_mean(diagnostic, callback->model->text, callback->model->span, models);
      if (is_new && (model == nullptr || model->kind != SymbolKind::Error))
        cx.report(std::move(diagnostic.note("`for` names a model")));
      object.is_checking = false;  // Its hooks speak of a model that nobody knows.
      object.is_done = true;
      typed.is_damaged = true;
      (*objects_of(cx.program, object.kind))[object.index] = typed;
      return;
    }
    ObjectInfo& info = object_of(cx, *model);
    complete(cx, info);
    object.model = &info;
    typed.model = info.name;
  }
  // Lets of data see its streams and maps, so its functions come first; elsewhere dims of functions see members.
  if (object.kind == Kind::Data) {
    cx.program.datas[object.index].object = typed;
    check_data_items(cx, object, *decl.get<ast::Data>());
    object.is_checking = false;
    object.is_done = true;
    return;
  }
  checker.check_members();
  checker.declare_fns();
  for (const std::string& name : object.fn_order) {
    std::vector<Local> locals;
    Scope scope{.cx = cx, .module = object.module, .place = Place::Fn, .owner = &object, .locals = locals};
    scope.requirements = &object.requirements;
    read_signature(cx, *object.fns[name], scope);
  }
  // Bodies may use other objects of this kind, so what is known is put in place before they are read.
  const bool is_metric = object.kind == Kind::Metric;
  (*objects_of(cx.program, object.kind))[object.index] = is_metric ? typed : std::move(typed);
  const ast::Name* merge = is_metric ? check_merge_form(cx, object, typed, items_of(decl)) : nullptr;
  for (const std::string& name : object.fn_order) check_body_of(cx, *object.fns[name]);
  if (merge != nullptr) check_merge(cx, object, typed, *merge);
  if (is_metric) check_sums(cx, object, typed);
  if (is_metric) check_values(cx, object, typed);
  if (is_metric) (*objects_of(cx.program, object.kind))[object.index] = std::move(typed);
  object.is_checking = false;
  object.is_done = true;
}

}  // namespace ltr::check
