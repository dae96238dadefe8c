#include <algorithm>

#include "dsl/check/declarations/declarations.h"
#include "dsl/check/expressions/call.h"
#include "dsl/check/library/library_call.h"

namespace ltr::check {

namespace {

constexpr size_t kFromTrainer = 2;  ///< the parameters that the trainer fills: the update, and how many are planned

diagnostics::Diagnostic refusal(Span span, const FnInfo& fn, const std::string& why) {
  return diag::wrong_schedule(span, fn.name, why)
      .note("what it gives for an update is what the optimizer's rate is multiplied by")
      .help("`fn {}(step: int, total: int) -> float`", fn.name);
}

/// Whether the runtime can call `fn` before an update. What cannot be read is not judged.
bool check_form(const FnInfo& fn, Span span, Context& cx) {
  if (has_broken_param(fn.params) || fn.result.is_error()) return false;
  // That it declares no result was said where it gives one.
  if (!fn.ast->result && fn.result.kind != Kind::Void) return false;
  const auto report = [&](diagnostics::Diagnostic diagnostic) {
    cx.report(std::move(diagnostic));
    return false;
  };
  const bool takes_step = fn.params.size() >= kFromTrainer &&
                          std::all_of(fn.params.begin(), fn.params.begin() + kFromTrainer,
                                      [](const ParamInfo& param) { return param.type.kind == Kind::Int; });
  if (!takes_step) {
    return report(refusal(fn.params.empty() ? span : fn.params[0].span, fn, "its first two parameters are no ints")
                      .label(span, "wanted here"));
  }
  for (size_t i = kFromTrainer; i < fn.params.size(); ++i) {
    const Type& type = fn.params[i].type;
    if (type.is_host_number() || type.kind == Kind::Bool || type.kind == Kind::Str) continue;
    return report(diag::wrong_schedule(fn.params[i].span, fn.name, "`" + fn.params[i].name + "` is " + cx.text(type))
                      .label(span, "wanted here")
                      .help("behind the two ints stand int, float, bool and str"));
  }
  if (fn.result.kind != Kind::Float) {
    const std::string what = fn.result.kind == Kind::Void ? "nothing" : cx.text(fn.result);
    return report(refusal(fn.ast->name.span, fn, "it gives " + what + ", not a float").label(span, "wanted here"));
  }
  if (!fn.requirements.empty()) {
    return report(diag::wrong_schedule(fn.requirements[0].origin, fn.name,
                                       "it needs `" + fn.requirements[0].text + "`, which no update promises")
                      .label(span, "wanted here")
                      .help("`/` of two ints is exact; a fraction is `1.0 * step / total`"));
  }
  KnownDraws known;
  if (!draws_random(cx.program, fn.index, known)) return true;
  return report(refusal(fn.ast->name.span, fn, "it draws random numbers, and a resumed run must see the same rates")
                    .label(span, "wanted here"));
}

/// Arguments for what stands behind the trainer's two parameters; nothing if one of them is wrong.
std::optional<std::vector<node::NamedArg>> own_arguments(const FnInfo& fn, CallSite& site) {
  Context& cx = site.scope.cx;
  const std::vector<ParamInfo> own(fn.params.begin() + kFromTrainer, fn.params.end());
  const auto bound = bind_arguments(own, site, fn.name);
  if (!bound) return std::nullopt;
  std::vector<Expr> args(kFromTrainer, error_at(site.span));
  std::vector<node::NamedArg> named;
  for (size_t i = 0; i < own.size(); ++i) {
    const Given* given = (*bound)[i];
    const std::string what = "`" + own[i].name + "` of `" + fn.name + "`";
    args.push_back(given != nullptr ? check_given_as(*given, own[i].type, site.scope, what.c_str())
                                    : default_of(fn.params, kFromTrainer + i, args, fn.module, site.scope));
    if (given == nullptr && args.back().type.is_error()) {
      cx.report(diag::wrong_schedule(own[i].span, fn.name, "the default of `" + own[i].name + "` has no value yet")
                    .label(site.span, "it is computed here, once, and not at each update"));
    }
    if (args.back().type.is_error()) return std::nullopt;
    named.push_back({own[i].name, cx.keep(args.back())});
  }
  return named;
}

/// The function of the model that is read, or null.
const ast::Fn* fn_of_model(const std::string& name, const Scope& scope) {
  const auto* model = scope.owner != nullptr ? scope.owner->decl->get<ast::Model>() : nullptr;
  if (model == nullptr) return nullptr;
  for (const ast::Item& item : model->items) {
    const auto* fn = item.get<ast::Fn>();
    if (fn != nullptr && fn->name.text == name) return fn;
  }
  return nullptr;
}

}  // namespace

std::optional<Expr> check_own_schedule(const ast::Expr& expr, Scope& scope) {
  Context& cx = scope.cx;
  const auto* call = expr.get<ast::Call>();
  const std::optional<ast::Name> name = name_written(call != nullptr ? *call->callee : expr);
  if (!name) return std::nullopt;
  const Symbol* symbol = cx.graph.find(scope.module, name->text);
  const ast::Fn* of_model = symbol == nullptr ? fn_of_model(name->text, scope) : nullptr;
  if (of_model != nullptr && !cx.graph.schedules.contains(name->text)) {
    CallSite site{name->text, name->span, expr.span, {}, scope};
    if (call != nullptr) site.given = given_of(*call);
    cx.report(
        diag::wrong_schedule(name->span, name->text, "it is a function of `" + scope.owner->name + "`")
            .label(of_model->name.span, "declared here")
            .note("a rate follows from the update alone, whatever the model holds")
            .help("move `fn {}` out of the model, to the top of the file; what it needs of the model's parameters "
                  "are parameters of its own, behind the two ints",
                  name->text));
    return ignore_arguments(site);
  }
  // That it could not be imported was said.
  if (symbol != nullptr && symbol->kind == SymbolKind::Error) {
    CallSite site{name->text, name->span, expr.span, {}, scope};
    if (call != nullptr) site.given = given_of(*call);
    return ignore_arguments(site);
  }
  if (symbol == nullptr || symbol->fn == nullptr || cx.graph.modules[symbol->module].is_library) return std::nullopt;
  FnInfo& fn = fn_of(cx, *symbol);
  check_body_of(cx, fn);
  CallSite site{fn.name, name->span, expr.span, {}, scope};
  if (call != nullptr) site.given = given_of(*call);
  if (!check_form(fn, name->span, cx)) return ignore_arguments(site);
  auto args = own_arguments(fn, site);
  if (!args) return error_at(expr.span);
  node::Call made{.name = fn.name, .op = library::Id::None, .args = std::move(*args), .fn = fn.index};
  return Expr{Type::of(Kind::Schedule), expr.span, std::move(made)};
}

}  // namespace ltr::check
