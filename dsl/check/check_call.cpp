#include <algorithm>

#include "dsl/check/context.h"

namespace ltr::check {

namespace {

std::string count_text(size_t count, const char* noun) {
  return std::to_string(count) + " " + noun + (count == 1 ? "" : "s");
}

void forget_unbound(Type& type, const std::set<AtomId>& free, Context& cx) {
  Binding unbound;
  for (const AtomId atom : free) unbound.dims[atom] = cx.program.atoms.unknown();
  type = substitute(type, unbound, cx);
}

std::set<AtomId> free_atoms(const FnInfo& fn) {
  std::set<AtomId> free;
  for (const auto& [name, atom] : fn.binders) free.insert(atom);
  for (const ParamInfo& param : fn.params) {
    if (param.atom != 0) free.insert(param.atom);
  }
  return free;
}

/// The call kept as a value: an optimizer, schedule, callback or logger, its arguments named.
Expr value_call(const FnInfo& op, std::vector<Expr> args, Span span, Context& cx) {
  Expr result = make_expr(ExprKind::Call, op.result, span, std::move(args), op.name);
  for (const ParamInfo& param : op.params) result.formats.push_back(param.name);
  // A setting that is given a value here may still be given none at the start.
  CallSignature signature{op.name, {}};
  for (const ParamInfo& param : op.params) {
    if (param.type.kind == Kind::Option) signature.params.emplace_back(param.name, to_text(param.type, cx.program.atoms));
  }
  const bool is_known = std::any_of(cx.program.calls.begin(), cx.program.calls.end(),
                                    [&](const CallSignature& one) { return one.name == op.name; });
  if (!is_known && !signature.params.empty()) cx.program.calls.push_back(std::move(signature));
  return result;
}

}  // namespace

Expr check_given(const Given& given, Scope& scope) {
  return given.checked ? *given.checked : check_expr(*given.value, scope);
}

Expr check_given_as(const Given& given, const Type& wanted, Scope& scope, const char* what) {
  return given.checked ? convert(*given.checked, wanted, scope, what)
                       : check_as(*given.value, wanted, scope, what);
}

std::optional<std::vector<const Given*>> bind_arguments(const std::vector<ParamInfo>& params,
                                                        const CallSite& site,
                                                        const std::string& callee) {
  Context& cx = site.scope.cx;
  std::vector<const Given*> bound(params.size(), nullptr);
  bool has_error = false;
  size_t next = 0;
  for (const Given& given : site.given) {
    // What could not be read may have been more than one argument.
    if (given.value != nullptr && given.value->is_error()) return std::nullopt;
  }
  for (const Given& given : site.given) {
    if (!given.name) {
      if (next >= params.size()) {
        cx.report(diag::wrong_argument(given.span, "`" + callee + "` takes " +
                                                       count_text(params.size(), "argument") +
                                                       ", this is one more"));
        has_error = true;
        continue;
      }
      bound[next++] = &given;
      continue;
    }
    const auto param = std::find_if(params.begin(), params.end(), [&](const ParamInfo& candidate) {
      return candidate.name == given.name->text;
    });
    if (param == params.end()) {
      std::vector<std::string> names;
      for (const ParamInfo& candidate : params) names.push_back(candidate.name);
      diagnostics::Diagnostic diagnostic = diag::wrong_argument(
          given.name->span, "`" + callee + "` has no parameter `" + given.name->text + "`");
      if (!did_you_mean(diagnostic, given.name->text, given.name->span, names)) {
        std::string list;
        for (const std::string& name : names) list += (list.empty() ? "`" : ", `") + name + "`";
        if (!list.empty()) diagnostic.note("it has {}", list);
      }
      cx.report(std::move(diagnostic));
      has_error = true;
      continue;
    }
    const size_t index = size_t(param - params.begin());
    if (bound[index] != nullptr) {
      cx.report(diag::wrong_argument(given.name->span, "`" + given.name->text + "` is given twice")
                    .label(bound[index]->span, "first here"));
      has_error = true;
      continue;
    }
    bound[index] = &given;
  }
  std::string missing;
  for (size_t i = 0; i < params.size(); ++i) {
    if (bound[i] != nullptr || params[i].initial != nullptr) continue;
    missing += (missing.empty() ? "`" : ", `") + params[i].name + "`";
  }
  if (!missing.empty() && !has_error) {
    cx.report(diag::wrong_argument(site.name_span, "`" + callee + "` needs " + missing));
    has_error = true;
  }
  if (has_error) return std::nullopt;
  return bound;
}

namespace {

/// The default of a param; one that is just another param's name repeats that param's argument.
Expr default_of(const std::vector<ParamInfo>& params,
                size_t index,
                const std::vector<Expr>& before,
                uint32_t module,
                Scope& scope) {
  const ParamInfo& param = params[index];
  if (const auto* name = param.initial->get<ast::NameRef>()) {
    for (size_t i = 0; i < index; ++i) {
      if (params[i].name == name->name.text) return before[i];
    }
  }
  std::vector<Local> locals;
  Scope inner{.cx = scope.cx, .module = module, .place = Place::Const, .locals = locals};
  Expr value = check_as(*param.initial, param.type, inner, "the default");
  value.span = scope.cx.graph.modules[module].is_library ? Span{} : value.span;
  return value;
}

}  // namespace

std::optional<std::vector<Expr>> op_arguments(const FnInfo& op, CallSite& site, Binding& binding) {
  const auto bound = bind_arguments(op.params, site, op.name);
  if (!bound) return std::nullopt;
  const std::set<AtomId> free = free_atoms(op);
  std::vector<Expr> args;
  bool has_error = false;
  for (size_t i = 0; i < op.params.size(); ++i) {
    const ParamInfo& param = op.params[i];
    const std::string what = "`" + param.name + "` of `" + op.name + "`";
    if ((*bound)[i] == nullptr) {
      args.push_back(default_of(op.params, i, args, op.module, site.scope));
    } else {
      args.push_back(check_given_as(*(*bound)[i], param.type, site.scope, what.c_str()));
      const Span span = (*bound)[i]->checked ? (*bound)[i]->span : args.back().span;
      if (!args.back().type.is_error() && args.back().kind != ExprKind::NoneConst &&
          !match(param.type, args.back().type, binding, free, span, site.scope, what, true)) {
        has_error = true;
      }
    }
    if (args.back().type.is_error()) has_error = true;
    if (param.atom != 0 && args.back().type.value)
      binding.dims[param.atom] = *args.back().type.value;
  }
  if (has_error) return std::nullopt;
  put_requirements(op.requirements, binding, {op.params, args}, site.span, site.scope);
  return args;
}

Expr call_op(const FnInfo& op, CallSite& site) {
  if (auto rule = check_shape_rule(op.name, op, site)) return std::move(*rule);
  return call_by_signature(op, site);
}

Expr call_by_signature(const FnInfo& op, CallSite& site) {
  Binding binding;
  auto args = op_arguments(op, site, binding);
  if (!args) return error_at(site.span);
  switch (op.result.kind) {
    case Kind::Optimizer:
    case Kind::Schedule:
    case Kind::CallbackValue:
    case Kind::Logger:
      return value_call(op, std::move(*args), site.span, site.scope.cx);
    default:
      break;
  }
  Type result = substitute(op.result, binding, site.scope.cx);
  forget_unbound(result, free_atoms(op), site.scope.cx);
  return op_expr(op.name, std::move(result), site.span, std::move(*args));
}

namespace {

/// A param that could not be read: what fits it is not known.
bool has_broken_param(const std::vector<ParamInfo>& params) {
  return std::any_of(params.begin(), params.end(),
                     [](const ParamInfo& param) { return param.type.is_error(); });
}

/// Looks at the arguments for mistakes of their own.
Expr ignore_arguments(CallSite& site) {
  for (const Given& given : site.given) {
    if (!given.checked && given.value != nullptr) check_expr(*given.value, site.scope);
  }
  return error_at(site.span);
}

}  // namespace

Expr call_fn(FnInfo& fn, std::optional<Expr> receiver, CallSite& site) {
  Context& cx = site.scope.cx;
  if (fn.is_checking) {
    cx.report(diag::recursion(site.name_span, fn.name).note("recursion is not part of edition 1"));
    return error_at(site.span);
  }
  check_body_of(cx, fn);
  if (has_broken_param(fn.params)) return ignore_arguments(site);
  const auto bound = bind_arguments(fn.params, site, fn.name);
  if (!bound) return error_at(site.span);
  Binding binding;
  if (receiver) {
    for (const auto& [atom, value] : receiver->type.arguments) binding.dims[atom] = value;
  }
  const std::set<AtomId> free = free_atoms(fn);
  std::vector<Expr> args;
  bool has_error = false;
  for (size_t i = 0; i < fn.params.size(); ++i) {
    const ParamInfo& param = fn.params[i];
    const std::string what =
        "`" + param.name + "` of `" +
        (fn.name == "forward" && fn.owner != nullptr ? fn.owner->name : fn.name) + "`";
    if ((*bound)[i] == nullptr) {
      args.push_back(default_of(fn.params, i, args, fn.module, site.scope));
    } else {
      const Type wanted = substitute(param.type, binding, cx);
      args.push_back(check_given_as(*(*bound)[i], wanted, site.scope, what.c_str()));
      if (!args.back().type.is_error() && !match(param.type, args.back().type, binding, free,
                                                 args.back().span, site.scope, what, false)) {
        has_error = true;
      }
    }
    has_error = has_error || args.back().type.is_error();
    if (param.atom != 0)
      binding.dims[param.atom] =
          args.back().type.value ? *args.back().type.value : cx.program.atoms.unknown();
  }
  if (has_error) return error_at(site.span);
  put_requirements(fn.requirements, binding, {fn.params, args, receiver ? &*receiver : nullptr}, site.span, site.scope);
  Type result = substitute(fn.result, binding, cx);
  forget_unbound(result, free, cx);
  if (site.scope.fn != 0) cx.callees[site.scope.fn].insert(fn.index);
  if (receiver) args.insert(args.begin(), std::move(*receiver));
  const ExprKind kind = args.size() > fn.params.size() ? ExprKind::CallMethod : ExprKind::CallFn;
  Expr call = make_expr(kind, std::move(result), site.span, std::move(args), fn.name);
  call.fn = fn.index;
  return call;
}

Expr construct(const Symbol& symbol, CallSite& site) {
  Context& cx = site.scope.cx;
  ObjectInfo& object = object_of(cx, symbol);
  if (object.is_checking) {
    cx.report(diag::recursion(site.name_span, object.name).note("it is being declared here"));
    return error_at(site.span);
  }
  complete(cx, object);
  const Place place = site.scope.place;
  const bool may_build =
      place == Place::Member || place == Place::Test || place == Place::Experiment;
  if (!may_build && symbol.kind != SymbolKind::Data) {
    cx.report(diag::block_built_in_code(site.span, symbol.name)
                  .help("make it a member: `NAME = {}` outside of the function",
                        cx.source_text(site.span)));
    return error_at(site.span);
  }
  if (has_broken_param(object.params)) return ignore_arguments(site);
  const auto bound = bind_arguments(object.params, site, object.name);
  if (!bound) return error_at(site.span);
  Binding binding;
  std::vector<Expr> args;
  bool has_error = false;
  const auto is_function = [&](size_t i) {
    return object.params[i].type.kind == Kind::Function && (*bound)[i] != nullptr;
  };
  for (size_t i = 0; i < object.params.size(); ++i) {
    const ParamInfo& param = object.params[i];
    const std::string what = "`" + param.name + "`";
    if (is_function(i)) {
      args.push_back(check_given(*(*bound)[i], site.scope));
    } else if ((*bound)[i] == nullptr) {
      args.push_back(default_of(object.params, i, args, object.module, site.scope));
    } else {
      const Type wanted = substitute(param.type, binding, cx);
      args.push_back(check_given_as(*(*bound)[i], wanted, site.scope, what.c_str()));
    }
    has_error = has_error || args.back().type.is_error();
    if (param.atom != 0)
      binding.dims[param.atom] =
          args.back().type.value ? *args.back().type.value : cx.program.atoms.unknown();
  }
  // What a block parameter must accept may hang on all other arguments.
  for (size_t i = 0; i < object.params.size() && !has_error; ++i) {
    if (!is_function(i)) continue;
    const Type wanted = substitute(object.params[i].type, binding, cx);
    const std::string what = "`" + object.params[i].name + "`";
    args[i] = convert(std::move(args[i]), wanted, site.scope, what.c_str());
    has_error = args[i].type.is_error();
  }
  if (has_error) return error_at(site.span);
  // Types that mention other params, such as a shared weight, are compared once all are known.
  for (size_t i = 0; i < object.params.size(); ++i) {
    if ((*bound)[i] == nullptr || is_function(i)) continue;
    if (!match(object.params[i].type, args[i].type, binding, {}, args[i].span, site.scope,
               "`" + object.params[i].name + "`", false)) {
      return error_at(site.span);
    }
  }
  put_requirements(object.requirements, binding, {object.params, args}, site.span, site.scope);
  Type type = Type::of(object.kind);
  type.decl = object.index;
  type.name = object.name;
  for (const ParamInfo& param : object.params) {
    if (param.atom != 0) type.arguments.emplace_back(param.atom, binding.dims[param.atom]);
  }
  return make_expr(ExprKind::Construct, std::move(type), site.span, std::move(args), object.name);
}

namespace {

Expr call_symbol(const Symbol& symbol, CallSite& site) {
  switch (symbol.kind) {
    case SymbolKind::Fn:
    case SymbolKind::Op: {
      FnInfo& fn = fn_of(site.scope.cx, symbol);
      return fn.is_op ? call_op(fn, site) : call_fn(fn, std::nullopt, site);
    }
    case SymbolKind::Block:
    case SymbolKind::Model:
    case SymbolKind::Metric:
    case SymbolKind::Data:
      return construct(symbol, site);
    case SymbolKind::Error:
      return error_at(site.span);
    case SymbolKind::Hparam:
    case SymbolKind::Const:
    case SymbolKind::Callback:
    case SymbolKind::Topology:
    case SymbolKind::Experiment:
      break;
  }
  site.scope.cx.report(diag::not_callable(site.name_span, "`" + symbol.name + "`"));
  return error_at(site.span);
}

Expr apply_chain(const Expr& chain, Expr value, Span span, Scope& scope) {
  for (size_t i = 0; i < chain.type.fields.size(); ++i) {
    Expr element = make_expr(ExprKind::ListElement, chain.type.fields[i].type, chain.span,
                             {chain, int_const(int64_t(i), span)});
    if (chain.type.fields[i].type.kind == Kind::Function)
      element.name = chain.type.fields[i].type.name;
    std::vector<Given> given;
    given.push_back({std::nullopt, nullptr, std::move(value), span});
    value = apply(std::move(element), std::move(given), span, scope);
    if (value.type.is_error()) return value;
  }
  value.span = span;
  return value;
}

Expr apply_list(Expr list, std::vector<Given> given, Span span, Scope& scope) {
  Context& cx = scope.cx;
  if (given.size() != 1) {
    cx.report(diag::wrong_argument(span, "a list of blocks is applied to one value"));
    return error_at(span);
  }
  Expr value = check_given(given[0], scope);
  if (value.type.is_error()) return error_at(span);
  const Type element_type = list.type.fields.empty() ? Type::error() : list.type.fields[0].type;
  if (element_type.kind != Kind::Block) {
    cx.report(diag::not_callable(span, "a list of " + cx.text(element_type)));
    return error_at(span);
  }
  const Type before = value.type;
  Expr element =
      make_expr(ExprKind::ListElement, element_type, list.span, {list, int_const(0, span)});
  std::vector<Given> once;
  once.push_back({std::nullopt, nullptr, value, given[0].span});
  const Expr call = apply(std::move(element), std::move(once), span, scope);
  if (call.type.is_error()) return call;
  if (!(call.type == before)) {
    cx.report(diag::not_shape_preserving(span, cx.text(before), cx.text(call.type)));
    return error_at(span);
  }
  Expr result = make_expr(ExprKind::ApplyList, before, span, {std::move(list), std::move(value)});
  result.fn = call.fn;
  return result;
}

}  // namespace

Expr apply(Expr callee, std::vector<Given> given, Span span, Scope& scope) {
  Context& cx = scope.cx;
  if (callee.type.is_error()) return error_at(span);
  CallSite site{callee.type.name, callee.span, span, std::move(given), scope};
  switch (callee.type.kind) {
    case Kind::Block: {
      ObjectInfo* object = find_object(cx, Kind::Block, callee.type.decl);
      const auto forward = object->fns.find("forward");
      if (forward == object->fns.end()) {
        if (object->is_damaged) return ignore_arguments(site);
        cx.report(
            diag::not_callable(callee.span, "`" + object->name + "` has no `fn forward`, so it"));
        return error_at(span);
      }
      return call_fn(*forward->second, std::move(callee), site);
    }
    case Kind::List: {
      if (callee.type.uniform)
        return apply_list(std::move(callee), std::move(site.given), span, scope);
      if (site.given.size() != 1) {
        cx.report(diag::wrong_argument(span, "a chain is applied to one value"));
        return error_at(span);
      }
      return apply_chain(callee, check_given(site.given[0], scope), span, scope);
    }
    case Kind::Metric: {
      ObjectInfo* object = find_object(cx, Kind::Metric, callee.type.decl);
      const auto update = object->fns.find("update");
      if (update == object->fns.end()) {
        cx.report(diag::not_callable(
            callee.span, "the metric `" + object->name + "` has no `fn update`, so it"));
        return error_at(span);
      }
      if (scope.place != Place::Step && scope.place != Place::Hook) {
        cx.report(diag::wrong_place(span, "a metric is updated in steps and hooks only"));
        return error_at(span);
      }
      Expr call = call_fn(*update->second, std::move(callee), site);
      if (call.type.is_error()) return call;
      call.kind = ExprKind::CallMetric;
      call.type = Type::of(Kind::MetricValue);
      return call;
    }
    case Kind::Function: {
      if (callee.type.decl != 0) return apply_closure(callee, std::move(site.given), span, scope);
      if (!callee.type.fields.empty()) return call_value(std::move(callee), site);
      if (callee.whole == 1 && scope.owner != nullptr) {
        const auto method = scope.owner->fns.find(callee.type.name);
        Type self = Type::of(scope.owner->kind);
        self.decl = scope.owner->index;
        if (method != scope.owner->fns.end()) {
          return call_fn(*method->second, make_expr(ExprKind::Self, self, callee.span), site);
        }
      }
      if (const Symbol* symbol = cx.graph.find(scope.module, callee.type.name))
        return call_symbol(*symbol, site);
      break;
    }
    default:
      break;
  }
  cx.report(diag::not_callable(callee.span, "a value of type " + cx.text(callee.type)));
  return error_at(span);
}

namespace {

/// `opt.zero_grad()` and so on, in a manual step.
std::optional<Expr> call_optimizer(const Expr& optimizer,
                                   const ast::Name& name,
                                   const std::vector<Given>& given,
                                   Span span,
                                   Scope& scope) {
  static const std::map<std::string, size_t> kMethods = {
      {"zero_grad", 0}, {"step", 0}, {"clip_norm", 1}, {"clip_value", 1}, {"set_lr", 1}};
  const auto method = kMethods.find(name.text);
  if (method == kMethods.end()) return std::nullopt;
  Context& cx = scope.cx;
  if (scope.place != Place::Step || !scope.info->is_manual) {
    cx.report(
        diag::wrong_place(span, "`" + name.text + "` of an optimizer is called in manual steps")
            .help("`minimize loss` does all of it, or declare `step train(…) manual { … }`"));
    return error_at(span);
  }
  if (given.size() != method->second) {
    cx.report(diag::wrong_argument(
        span, "`" + name.text + "` takes " + count_text(method->second, "argument")));
    return error_at(span);
  }
  std::vector<Expr> args = {optimizer};
  for (const Given& one : given) {
    args.push_back(check_given_as(one, Type::of(Kind::Float), scope, "the number"));
    if (args.back().type.is_error()) return error_at(span);
  }
  return op_expr(name.text, Type::of(Kind::Void), span, std::move(args));
}

/// `frozen(net).encode(x)`.
std::optional<Expr> call_frozen_method(const Expr& base,
                                       const ast::Field& field,
                                       const std::vector<Given>& given,
                                       Span span,
                                       Scope& scope) {
  const std::optional<Expr> block = scope.cx.closures[base.type.decl - 1].frozen;
  if (!block || block->type.kind != Kind::Block) return std::nullopt;
  const ObjectInfo* object = find_object(scope.cx, Kind::Block, block->type.decl);
  const auto method = object->fns.find(field.name.text);
  if (method == object->fns.end()) return std::nullopt;
  CallSite site{field.name.text, field.name.span, span, given, scope};
  Expr call = call_fn(*method->second, *block, site);
  if (call.type.is_error()) return call;
  const Type type = call.type;
  return make_expr(ExprKind::Frozen, type, span, {std::move(call), *block});
}

Expr call_method(const ast::Field& field, std::vector<Given> given, Span span, Scope& scope) {
  Context& cx = scope.cx;
  const std::string& name = field.name.text;
  if (const auto* base = field.base->get<ast::NameRef>();
      base != nullptr && !scope.find_local(base->name.text)) {
    const auto& aliases = cx.graph.modules[scope.module].aliases;
    if (const auto alias = aliases.find(base->name.text); alias != aliases.end()) {
      const auto& symbols = cx.graph.modules[alias->second].symbols;
      if (const auto found = symbols.find(name); found != symbols.end()) {
        CallSite site{name, field.name.span, span, std::move(given), scope};
        return call_symbol(found->second, site);
      }
    }
  }
  Expr base = check_expr(*field.base, scope);
  if (base.type.is_error()) return error_at(span);
  const Kind kind = base.type.kind;
  if (kind == Kind::Function && base.type.decl != 0) {
    if (auto call = call_frozen_method(base, field, given, span, scope)) return std::move(*call);
  }
  // A test looks into a metric: what it updates, and what comes of it.
  const bool is_tested = kind == Kind::Metric && scope.place == Place::Test;
  if (kind == Kind::Block || kind == Kind::Model || is_tested) {
    ObjectInfo* object = find_object(cx, kind, base.type.decl);
    if (const auto method = object->fns.find(name); method != object->fns.end()) {
      CallSite site{name, field.name.span, span, std::move(given), scope};
      return call_fn(*method->second, std::move(base), site);
    }
    return apply(field_of(std::move(base), field.name, span, scope), std::move(given), span, scope);
  }
  if (kind == Kind::Record || kind == Kind::Optimizer) {
    if (kind == Kind::Optimizer) {
      if (auto call = call_optimizer(base, field.name, given, span, scope)) return std::move(*call);
    }
    return apply(field_of(std::move(base), field.name, span, scope), std::move(given), span, scope);
  }
  given.insert(given.begin(), Given{std::nullopt, nullptr, base, base.span});
  CallSite site{name, field.name.span, span, std::move(given), scope};
  if (kind == Kind::Stream) {
    if (auto stage = check_stream_call(name, site)) return std::move(*stage);
  }
  if (auto builtin = check_builtin(name, site)) return std::move(*builtin);
  const Symbol* symbol = cx.graph.find(scope.module, name);
  if (symbol != nullptr && (symbol->kind == SymbolKind::Op || symbol->kind == SymbolKind::Fn)) {
    return call_symbol(*symbol, site);
  }
  diagnostics::Diagnostic diagnostic =
      diag::unknown_field(field.name.span, cx.text(base.type), name);
  std::vector<std::string> known = cx.graph.visible(scope.module);
  if (kind == Kind::List) known.emplace_back("weights");
  did_you_mean(diagnostic, name, field.name.span, known);
  cx.report(std::move(diagnostic));
  return error_at(span);
}

/// Calls what `callee` names or gives.
Expr call_written(const ast::Expr& callee, std::vector<Given> given, Span span, Scope& scope) {
  if (const auto* field = callee.get<ast::Field>())
    return call_method(*field, std::move(given), span, scope);
  const auto* ref = callee.get<ast::NameRef>();
  if (ref == nullptr)
    return apply(check_expr(callee, scope), std::move(given), span, scope);
  const std::string& name = ref->name.text;
  Context& cx = scope.cx;
  // A param hides a function of its name only if it can be called itself: `dropout(x, dropout)`.
  const auto is_block_param = [&](const ParamInfo& param) {
    return param.name == name && param.type.kind == Kind::Function;
  };
  const bool is_own =
      scope.find_local(name) ||
      (scope.owner != nullptr &&
       (scope.owner->members.contains(name) || scope.owner->fns.contains(name) ||
        std::any_of(scope.owner->params.begin(), scope.owner->params.end(), is_block_param)));
  if (is_own)
    return apply(check_name(callee, ref->name, scope), std::move(given), span, scope);
  CallSite site{name, ref->name.span, span, std::move(given), scope};
  const Symbol* symbol = cx.graph.find(scope.module, name);
  const bool is_users = symbol != nullptr && !cx.graph.modules[symbol->module].is_library;
  if (!is_users) {
    if (auto builtin = check_builtin(name, site)) return std::move(*builtin);
    if (scope.place == Place::Data && (cx.graph.stages.contains(name) || symbol == nullptr)) {
      // `split repeat sample` are stages when their first argument is a stream.
      if (!site.given.empty() && !site.given[0].checked && !site.given[0].name &&
          site.given[0].value != nullptr && cx.graph.stages.contains(name)) {
        const std::vector<ParamInfo>& params = fn_of(cx, cx.graph.stages.at(name)).params;
        const bool takes_stream = !params.empty() && params[0].type.kind == Kind::Stream;
        if (takes_stream) site.given[0].checked = check_expr(*site.given[0].value, scope);
      }
      if (auto stream = check_stream_call(name, site)) return std::move(*stream);
    }
  }
  if (symbol != nullptr) return call_symbol(*symbol, site);
  if (scope.place == Place::Experiment && cx.graph.schedules.contains(name)) {
    return call_op(fn_of(cx, cx.graph.schedules.at(name)), site);
  }
  // The arguments are looked at all the same: their mistakes are independent ones.
  report_unknown(ref->name, scope);
  for (const Given& argument : site.given) {
    if (argument.value != nullptr) check_expr(*argument.value, scope);
  }
  return error_at(span);
}

/// Arguments as they are written, behind the value that was piped in.
std::vector<Given> given_of(const ast::Call& call, std::optional<Expr> piped) {
  std::vector<Given> given;
  if (piped) {
    const Span span = piped->span;
    given.push_back({std::nullopt, nullptr, std::move(piped), span});
  }
  for (const ast::Argument& argument : call.arguments) {
    given.push_back({argument.name, &*argument.value, std::nullopt, argument.value->span});
  }
  return given;
}

}  // namespace

Expr check_call(const ast::Expr& expr,
                const ast::Call& call,
                Scope& scope,
                std::optional<Expr> piped) {
  if (piped && piped->type.is_error()) return error_at(expr.span);
  return call_written(*call.callee, given_of(call, std::move(piped)), expr.span, scope);
}

Expr check_pipe(const ast::Expr& expr, const ast::Pipe& pipe, Scope& scope) {
  Expr value = check_expr(*pipe.value, scope);
  if (const auto* call = pipe.target->get<ast::Call>())
    return check_call(expr, *call, scope, std::move(value));
  if (value.type.is_error()) return error_at(expr.span);
  const Span span = value.span;
  return call_written(*pipe.target, {{std::nullopt, nullptr, std::move(value), span}}, expr.span,
                      scope);
}

}  // namespace ltr::check
