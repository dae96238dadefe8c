#include <algorithm>
#include <ranges>
#include <utility>

#include "dsl/check/declarations/declarations.h"
#include "dsl/check/expressions/call.h"
#include "dsl/check/expressions/declared_at.h"
#include "dsl/check/expressions/origins.h"
#include "dsl/check/library/library_call.h"
#include "dsl/check/scope/aside.h"

namespace ltr::check {

namespace {

/// Whether it is a `weight_path`, or has some in it.
bool holds_weight_paths(const Type& type) {
  return type.name == "weight_path" || std::any_of(type.fields.begin(), type.fields.end(),
                                                   [](const TypeField& part) { return holds_weight_paths(part.type); });
}

/// The call kept as a value: an optimizer, schedule, callback or logger, its arguments named.
Expr value_call(const FnInfo& op, std::vector<Expr> args, Span span, Context& cx) {
  node::Call call{.name = op.name, .op = op.id, .args = {}};
  for (size_t i = 0; i < args.size(); ++i) {
    const ParamInfo& param = op.params[i];
    call.args.push_back({param.name, cx.keep(std::move(args[i])), holds_weight_paths(param.type)});
  }
  // A setting that is given a value here may still be given none at the start, or one of another kind.
  CallSignature signature{op.name, {}};
  for (const ParamInfo& param : op.params) {
    const bool has_kinds = param.type.name == kIntOrAll || param.type.name == kFloatOrPeriod;
    if (param.type.kind == Kind::Option || has_kinds)
      signature.params.emplace_back(param.name, to_text(param.type, cx.program.atoms));
  }
  const bool is_known = std::any_of(cx.program.calls.begin(), cx.program.calls.end(),
                                    [&](const CallSignature& one) { return one.name == op.name; });
  if (!is_known && !signature.params.empty()) cx.program.calls.push_back(std::move(signature));
  return {op.result, span, std::move(call)};
}

}  // namespace

namespace {

/// Sizes of `value` that are asked for from now on may have been taken away where it is computed.
void note_taken(const ExprView& value, size_t first, Scope& scope) {
  for (size_t i = first; scope.requirements != nullptr && i < scope.requirements->size(); ++i) {
    const Polynomial left = (*scope.requirements)[i].left, right = (*scope.requirements)[i].right;
    if ((*scope.requirements)[i].kind != Requirement::Kind::Equal) continue;
    const auto taken = find_taken(value, scope, [&](const Dim& dim) { return dim.size == left || dim.size == right; });
    if (!taken) continue;
    (*scope.requirements)[i].taken = taken->span;
    (*scope.requirements)[i].taken_size = scope.cx.text(taken->dim.size);
  }
}

/// Whether the last of `args` fits those before it and is a `wanted`, as `fits` reports it; with where these have their types.
template <class Fits>
bool match_last(const std::vector<Expr>& args, const Type& wanted, Fits fits, Scope& scope) {
  diagnostics::Sink found;
  const size_t asked = scope.requirements != nullptr ? scope.requirements->size() : 0;
  bool is_fit = false;
  {
    const Aside aside(scope.cx, found);
    is_fit = fits();
  }
  for (diagnostics::Diagnostic one : found.reported()) {
    for (const Expr& arg : args) {
      if (one.code == diagnostics::Code::E0304) label_declared(one, arg, scope);
    }
    // What is computed in the place may be what is wrong.
    const bool is_of_first = one.code == diagnostics::Code::E0303 && args.size() > 1 && args[0].is<node::Op>() &&
                             args[0].type.is_tensor() && !args[0].span.is_empty() && one.span != args[0].span;
    if (is_of_first) one.label(args[0].span, "{}", scope.cx.text(args[0].type));
    if (one.code == diagnostics::Code::E0303) label_taken(one, args.back(), wanted, scope);
    if (one.code == diagnostics::Code::E0303 || one.code == diagnostics::Code::E0304)
      help_one_of_each(one, args[0], scope);
    scope.cx.report(std::move(one));
  }
  if (is_fit && args.back().type.is_tensor()) note_taken(args.back(), asked, scope);
  return is_fit;
}

std::optional<std::vector<Expr>> read_op_arguments(const FnInfo& op, CallSite& site, Binding& binding,
                                                   std::optional<Expr>& unfit) {
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
      // What comes through a pipe in the wrong place moves all others.
      if ((*bound)[i]->checked && !(*bound)[i]->checked->type.is_error() && args.back().type.is_error())
        return std::nullopt;
      const Span span = (*bound)[i]->checked ? (*bound)[i]->span : args.back().span;
      const auto fits = [&] {
        return match_last(
            args, substitute(param.type, binding, site.scope.cx),
            [&] { return match(param.type, args.back().type, binding, free, span, site.scope, what, true); },
            site.scope);
      };
      // Of one call the first argument that does not fit is told.
      if (!has_error && !args.back().type.is_error() && !args.back().is<node::NoneConst>() && !fits()) {
        has_error = true;
        unfit = args.back();
      }
    }
    if (args.back().type.is_error()) has_error = true;
    if (!args.back().is<node::NoneConst>()) bind_sizes(param.type, args.back(), binding, site.scope.cx);
  }
  if (has_error) return std::nullopt;
  const bool holds = put_requirements(op.requirements, binding, {op.params, args}, site.span, site.scope);
  // Windows and batches of no records have no type; a value out of its range has the type of any other.
  if (!holds && op.result.kind == Kind::Stream) return std::nullopt;
  return args;
}

}  // namespace

std::optional<std::vector<Expr>> op_arguments(const FnInfo& op, CallSite& site, Binding& binding) {
  std::optional<std::vector<Expr>> args;
  const Binding before = binding;
  std::optional<Expr> unfit;
  read_or_blame_order(site, op.params, op.result, [&](CallSite& given) {
    binding = before;
    args = read_op_arguments(op, given, binding, unfit);
    return args.has_value();
  });
  if (!args && unfit) forget_computed(*unfit, site.scope);
  return args;
}

Expr call_op(const FnInfo& op, CallSite& site) { return call_by_rule(op, site); }

Expr call_by_signature(const FnInfo& op, CallSite& site) {
  Binding binding;
  auto args = op_arguments(op, site, binding);
  if (!args) return error_at(site.span);
  switch (op.result.kind) {
    case Kind::Optimizer:
    case Kind::Schedule:
    case Kind::CallbackValue:
    case Kind::Logger:
    case Kind::TrainerValue:
    case Kind::Draw: return value_call(op, std::move(*args), site.span, site.scope.cx);
    default: break;
  }
  if (is_broken(op.result, binding, site.scope.cx)) return error_at(site.span);
  if (!require_sizes(op.result, binding, site.span, site.scope)) return error_at(site.span);
  Type result = substitute(op.result, binding, site.scope.cx);
  forget_unbound(result, free_atoms(op), site.scope.cx);
  return op_expr(op.id, std::move(result), site.span, site.scope.cx.keep(std::move(*args)));
}

Expr call_fn(FnInfo& fn, std::optional<Expr> receiver, CallSite& site) {
  Context& cx = site.scope.cx;
  if (fn.is_checking) {
    cx.report(diag::recursion(site.name_span, fn.name).note("recursion is not part of edition 1"));
    return error_at(site.span);
  }
  const bool is_too_deep = cx.work.open_bodies > kDeepest && !cx.declared.callees.contains(fn.index);
  if (!is_too_deep) check_body_of(cx, fn);
  if (is_too_deep || fn.calls_deep >= kDeepest) {
    cx.report_too_deep(site.span, "of calls of functions");
    return error_at(site.span);
  }
  if (site.scope.info != nullptr)
    site.scope.info->calls_deep = std::max(site.scope.info->calls_deep, fn.calls_deep + 1);
  if (has_broken_param(fn.params)) return ignore_arguments(site);
  Binding binding;
  std::vector<Expr> args;
  GivenOnce once{site.scope, {}};
  std::optional<Expr> unfit;
  const std::set<AtomId> free = free_atoms(fn);
  const bool is_named_by_owner = fn.owner != nullptr && (fn.name == "forward" || fn.role == FnRole::MetricUpdate);
  const std::string& callee = is_named_by_owner ? fn.owner->name : fn.name;
  const bool is_of_library = fn.owner == nullptr && cx.graph.modules[fn.module].is_library;
  const auto read = [&](CallSite& given) {
    binding = {};
    binding.takes_any_float = is_of_library;
    args.clear();
    once.values.clear();
    const auto bound = bind_arguments(fn.params, given, callee);
    if (!bound) return false;
    if (receiver) {
      for (const auto& [atom, value] : receiver->type.arguments) binding.dims[atom] = value;
    }
    bool fits = true;
    for (size_t i = 0; i < fn.params.size(); ++i) {
      const ParamInfo& param = fn.params[i];
      const std::string what = "`" + param.name + "` of `" + callee + "`";
      if ((*bound)[i] == nullptr) {
        args.push_back(default_of(fn.params, i, args, fn.module, given.scope, &once));
      } else {
        const Type wanted = substitute(param.type, binding, cx);
        args.push_back(check_given_as(*(*bound)[i], wanted, given.scope, what.c_str()));
        const Span span = (*bound)[i]->checked ? (*bound)[i]->span : args.back().span;
        const auto fits_last = [&] {
          return match(param.type, args.back().type, binding, free, span, given.scope, what, false);
        };
        if (fits && !args.back().type.is_error() &&
            !match_last(args, substitute(param.type, binding, cx), fits_last, given.scope)) {
          fits = false;
          unfit = args.back();
        }
      }
      fits = fits && !args.back().type.is_error();
      bind_sizes(param.type, args.back(), binding, cx);
    }
    return fits;
  };
  const BlameBuilder blame(receiver ? &*receiver : nullptr, site);
  if (!read_or_blame_order(site, fn.params, fn.result, read)) {
    if (unfit) forget_computed(*unfit, site.scope);
    return error_at(site.span);
  }
  put_requirements(fn.requirements, binding, {fn.params, args, receiver ? &*receiver : nullptr}, site.span, site.scope);
  if (is_broken(fn.result, binding, cx)) return error_at(site.span);
  if (!require_sizes(fn.result, binding, site.span, site.scope)) return error_at(site.span);
  Type result = substitute(fn.result, binding, cx);
  forget_unbound(result, free, cx);
  if (site.scope.fn != 0) cx.declared.callees[site.scope.fn].insert(fn.index);
  ExprIds kept = cx.keep(std::move(args));
  Expr call = receiver ? Expr{std::move(result), site.span,
                              node::CallMethod{fn.index, cx.keep(std::move(*receiver)), std::move(kept)}}
                       : Expr{std::move(result), site.span, node::CallFn{fn.index, std::move(kept)}};
  for (auto& [local, value] : std::views::reverse(once.values))
    call = let_in(local, std::move(value), std::move(call), site.span, cx);
  return call;
}

}  // namespace ltr::check
