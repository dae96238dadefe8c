#include <algorithm>
#include <map>
#include <utility>

#include "dsl/check/declarations/declarations.h"
#include "dsl/check/expressions/call.h"
#include "dsl/check/expressions/known.h"
#include "dsl/check/library/library_call.h"
#include "dsl/check/scope/members.h"
#include "dsl/check/statements/statements.h"
#include "dsl/diagnostics/suggest.h"
#include "runtime/tables/ranges.h"

namespace ltr::check {

namespace {

/// `opt.zero_grad()` and so on, in a manual step.
std::optional<Expr> call_optimizer(const ExprView& optimizer, const ast::Name& name, const std::vector<Given>& given,
                                   Span span, Scope& scope) {
  const OptimizerMethod* method = find_member(kOptimizerMethods, name.text);
  if (method == nullptr) return std::nullopt;
  Context& cx = scope.cx;
  if (scope.place != Place::Step || !scope.info->is_manual) {
    // The first of several says it for the step.
    if (scope.place == Place::Step && std::exchange(scope.info->is_told_manual, true)) return error_at(span);
    cx.report(diag::wrong_place(span, "`" + name.text + "` of an optimizer is called in manual steps")
                  .help("`minimize loss` does all of it, or declare `step train(…) manual { … }`"));
    return error_at(span);
  }
  if (given.size() != method->numbers) {
    cx.report(diag::wrong_argument(span, "`" + name.text + "` takes " + count_text(method->numbers, "argument")));
    return error_at(span);
  }
  std::vector<Expr> args = {optimizer};
  for (const Given& one : given) {
    args.push_back(check_given_as(one, Type::of(Kind::Float), scope, "the number"));
    const Expr& number = args.back();
    if (number.type.is_error()) return error_at(span);
    const auto known = evaluate(number, cx.program);
    const auto rule = known ? broken_rule("optimizer." + name.text, known->real) : std::nullopt;
    if (!rule) continue;
    cx.report(diag::out_of_range(number.span, "`" + name.text + "` cannot be " + cx.source_text(number.span))
                  .note("`{}`", *rule));
    return error_at(span);
  }
  return op_expr(library::find(library::Space::Values, name.text), Type::of(Kind::Void), span,
                 cx.keep(std::move(args)));
}

/// `frozen(net).encode(x)`.
std::optional<Expr> call_frozen_method(const ExprView& base, const ast::Field& field, const std::vector<Given>& given,
                                       Span span, Scope& scope) {
  const std::optional<Expr> block = scope.cx.closures.all[base.type.decl - 1].frozen;
  if (!block || block->type.kind != Kind::Block) return std::nullopt;
  const ObjectInfo* object = find_object(scope.cx, Kind::Block, block->type.decl);
  const auto method = object->fns.find(field.name.text);
  if (method == object->fns.end()) return std::nullopt;
  CallSite site{field.name.text, field.name.span, span, given, scope};
  Expr call = call_fn(*method->second, *block, site);
  if (call.type.is_error()) return call;
  return frozen_expr(std::move(call), *block, span, scope.cx);
}

/// `x.add_(1)`, which changes `x` in PyTorch. False if it is none of its methods, or has advice of its own.
bool help_in_place(diagnostics::Diagnostic& diagnostic, const std::string& name,
                   const std::vector<std::string>& known) {
  constexpr auto kUse = diagnostics::WordUse::Attribute;
  if (!name.ends_with('_') || diagnostics::foreign_advice(name, kUse)) return false;
  const std::string kept = name.substr(0, name.size() - 1);
  const std::optional<std::string_view> advice = diagnostics::foreign_advice(kept, kUse);
  const bool is_known = std::find(known.begin(), known.end(), kept) != known.end();
  const std::string ours = is_known ? kept : diagnostics::renamed(kept, known).value_or("");
  if (ours.empty() && !advice) return false;
  diagnostic.note("nothing is changed in place: a new value is given to the name");
  if (ours.empty())
    diagnostic.help("{}", std::string(*advice));
  else
    diagnostic.help("`x = x.{}(…)`", ours);
  return true;
}

}  // namespace

Expr call_method(const ast::Field& field, std::vector<Given> given, Span span, Scope& scope) {
  Context& cx = scope.cx;
  const std::string& name = field.name.text;
  if (const auto* base = field.base->get<ast::NameRef>(); base != nullptr && !scope.find_local(base->name.text)) {
    if (cx.graph.modules[scope.module].aliases.contains(base->name.text)) {
      CallSite site{name, field.name.span, span, std::move(given), scope};
      if (const Symbol* symbol = cx.graph.find(scope.module, base->name.text + "." + name))
        return call_symbol(*symbol, site);
      report_not_in_module(field.name, base->name.text, scope);
      return ignore_arguments(site);
    }
  }
  CallSite decode{name, field.name.span, span, given, scope};
  if (auto call = decode_in_predict(field, decode)) return std::move(*call);
  Expr base = check_base(field, scope, given.empty() ? span : Span{});
  if (base.type.is_error()) return ignore_arguments(decode);
  if (base.type.is_vocabulary()) {
    if (auto call = vocabulary_call(base, decode)) return std::move(*call);
    return known_field(std::move(base), field.name, span, scope);
  }
  const Kind kind = base.type.kind;
  if (kind == Kind::Function && diagnostics::is_foreign_package(base.type.name) &&
      cx.source_text(base.span) == base.type.name && cx.graph.find(scope.module, name) != nullptr) {
    const Span whole = source::join(base.span, field.name.span);
    cx.report(diag::unknown_field(field.name.span, "the function `" + base.type.name + "`", name)
                  .help("`{}` is in scope without a module", name)
                  .fix(whole, name));
    return ignore_arguments(decode);
  }
  if (kind == Kind::Function && base.type.decl != 0) {
    if (auto call = call_frozen_method(base, field, given, span, scope)) return std::move(*call);
  }
  // A test looks into a metric: what it updates, and what comes of it.
  const bool is_tested = kind == Kind::Metric && scope.place == Place::Test;
  if (kind == Kind::Block || kind == Kind::Model || kind == Kind::Metric) {
    ObjectInfo* object = find_object(cx, kind, base.type.decl);
    const bool is_each = is_tested && name == "compute" && base.type.gives_each;
    if (const auto method = object->fns.find(is_each ? kComputeEach : name); method != object->fns.end()) {
      if (kind == Kind::Metric && !is_tested) {
        cx.report(diag::wrong_place(span, "`" + name + "` of a metric is called in tests")
                      .help("steps call the metric itself: `log NAME = {}(…)`", cx.source_text(field.base->span)));
        if (name == "update") note_lost_log(node::CallMetric{0, cx.keep(std::move(base)), {}}, scope);
        return error_at(span);
      }
      CallSite site{name, field.name.span, span, std::move(given), scope};
      return call_fn(*method->second, std::move(base), site);
    }
    if (is_tested && report_lacking(*object, name, base.span, cx)) return error_at(span);
    return apply(field_of(std::move(base), field.name, span, scope), std::move(given), span, scope);
  }
  if (kind == Kind::Record || kind == Kind::Optimizer) {
    if (kind == Kind::Optimizer) {
      if (auto call = call_optimizer(base, field.name, given, span, scope)) return std::move(*call);
    }
    return apply(field_of(std::move(base), field.name, span, scope), std::move(given), span, scope);
  }
  const bool is_empty_call = given.empty();
  const Span joined = given.size() == 1 ? given[0].span : Span{};
  given.insert(given.begin(), Given{std::nullopt, nullptr, base, base.span});
  CallSite site{name, field.name.span, span, std::move(given), scope};
  if (kind == Kind::Stream) {
    if (auto stage = check_stream_call(name, site)) return std::move(*stage);
  }
  if (auto text = check_text_call(name, site)) return std::move(*text);
  if (auto builtin = check_builtin(name, site)) return std::move(*builtin);
  const Symbol* symbol = cx.graph.find(scope.module, name);
  if (symbol != nullptr && (symbol->kind == SymbolKind::Op || symbol->kind == SymbolKind::Fn)) {
    return call_symbol(*symbol, site);
  }
  diagnostics::Diagnostic diagnostic = diag::unknown_field(field.name.span, cx.text(base.type), name);
  if (symbol != nullptr) note_hidden(diagnostic, name, symbol->span, cx);
  std::vector<std::string> known = text_methods(base.type);
  if (known.empty() && cx.may_search(scope.module)) known = cx.graph.visible(scope.module);
  if (kind == Kind::List) known.insert(known.end(), {"weights", "length"});
  if (kind == Kind::Str && name == "join" && !joined.is_empty()) {
    const std::string list = cx.source_text(joined) + ".join(" + cx.source_text(field.base->span) + ")";
    diagnostic.help("a list is joined, and told what stands between: `{}`", list).fix(span, list);
  } else {
    const bool is_near = help_in_place(diagnostic, name, known) ||
                         did_you_mean(diagnostic, name, field.name.span, known, diagnostics::WordUse::Attribute);
    // `net.parameters()` calls what is no function here.
    if (is_near && is_empty_call && !diagnostic.fixes.empty() && diagnostic.fixes[0].replacement == "weights")
      diagnostic.fixes[0].span.end = span.end;
    if (!is_near && (kind == Kind::Str || kind == Kind::Path)) note_known(diagnostic, known);
  }
  // `opt.zero_grad()`, `loss.backward()` and `opt.step()` are one way to write an update.
  if (name == "backward" && scope.place == Place::Step && std::exchange(scope.info->is_told_manual, true))
    return error_at(span);
  cx.report(std::move(diagnostic));
  return error_at(span);
}

}  // namespace ltr::check
