#include "dsl/check/expressions/call.h"

#include <algorithm>

#include "dsl/check/declarations/declarations.h"
#include "dsl/check/library/library_call.h"
#include "dsl/check/scope/aside.h"

namespace ltr::check {

bool is_type_name(const std::string& name) { return name == "int" || name == "str" || element_of(name).has_value(); }

namespace {

/// Reports `float(x)`, with how a value of that type is made here.
Expr report_type_called(const ast::Name& name, CallSite& site) {
  Scope& scope = site.scope;
  diagnostics::Diagnostic diagnostic = diag::not_callable(name.span, "the type `" + name.text + "`");
  const Expr value = site.given.size() == 1 ? check_given(site.given[0], scope) : error_at(site.span);
  const std::string text = scope.cx.source_text(value.span);
  const bool is_element = name.text != "int" && name.text != "str";
  const auto* word = value.get<node::StrConst>();
  if (word != nullptr && word->text.find("inf") != std::string::npos) {
    diagnostic.help("there is no infinity: a large number such as `{}1e30`, or leave the bound out",
                    word->text.starts_with('-') ? "-" : "");
  } else if (value.type.is_tensor() && value.type.dims.empty() && !scope.in_train &&
             (name.text == "float" || name.text == "int")) {
    diagnostic.help("`{}.item()` is its number, and `{}.to({})` a tensor of another type", text, text,
                    name.text == "int" ? "i64" : "float");
  } else if (value.type.is_tensor() && is_element) {
    diagnostic.help("`{}.to({})` converts a tensor", text, name.text);
  } else if (value.type.kind == Kind::Int && name.text == "float") {
    diagnostic.help("an int is a float where one is wanted: `{}`", text);
  } else if (value.type.kind == Kind::Int && is_element) {
    diagnostic.help("an int is an {} where one is wanted: `{}`", name.text, text);
  } else if (name.text == "str" && is_printable(value.type)) {
    diagnostic.help("a value stands in a text in braces: `\"{{}}\"`", text);
  } else if (name.text == "int" || name.text == "float") {
    add_cure(diagnostic, value, name.text == "int" ? Type::host_int() : Type::of(Kind::Float), scope.cx);
  }
  if (!value.type.is_error() || site.given.size() != 1) scope.cx.report(std::move(diagnostic));
  return error_at(site.span);
}

/// `CrossEntropyLoss(reduction = sum)(x, y)`: what another library builds first and calls then is one call of a function here.
bool report_built_function(const ast::Expr& callee, const std::vector<Given>& given, Span span, Scope& scope) {
  const auto* built = callee.get<ast::Call>();
  const auto* name = built != nullptr ? built->callee->get<ast::NameRef>() : nullptr;
  if (name == nullptr || is_in_scope(name->name.text, scope)) return false;
  const auto ours = diagnostics::renamed(name->name.text, scope.names());
  if (!ours || given.empty()) return false;
  Context& cx = scope.cx;
  const auto begin_of = [](const ast::Argument& one) { return one.name ? one.name->span : one.value->span; };
  std::string text = *ours + "(";
  for (const Given& one : given) {
    if (one.value == nullptr) return false;
    text += (text.ends_with("(") ? "" : ", ") + (one.name ? one.name->text + " = " : "") + cx.source_text(one.span);
  }
  for (const ast::Argument& one : built->arguments)
    text += ", " + cx.source_text(source::join(begin_of(one), one.value->span));
  text += ")";
  cx.report(diag::unknown_name(name->name.span, name->name.text)
                .help("it is a function, called once: `{}`", text)
                .fix(span, text));
  return true;
}

/// `rows |> folds(5)[0]`, whose index is of the call alone. False if the target is another.
bool report_indexed_link(const ast::Pipe& pipe, Scope& scope) {
  const auto* index = pipe.target->get<ast::Index>();
  const auto* call = index != nullptr ? index->base->get<ast::Call>() : nullptr;
  const auto* callee = call != nullptr ? call->callee->get<ast::NameRef>() : nullptr;
  if (callee == nullptr || scope.find_local(callee->name.text)) return false;
  const Span base = index->base->span, whole = pipe.target->span;
  const auto text = [&](Span span) { return std::string(scope.cx.source_text(span)); };
  const std::string brackets = text({whole.source, base.end, whole.end});
  scope.cx.report(diag::wrong_argument(whole, "the index is of `" + text(base) + "` alone, in front of the `|>`")
                      .help("in brackets: `({} |> {}){}`", text(pipe.value->span), text(base), brackets)
                      .fix(source::join(pipe.value->span, whole),
                           "(" + text(pipe.value->span) + " |> " + text(base) + ")" + brackets));
  return true;
}

/// Calls what `callee` names or gives.
Expr call_written(const ast::Expr& callee, std::vector<Given> given, Span span, Scope& scope) {
  if (report_built_function(callee, given, span, scope)) return error_at(span);
  if (const auto* field = callee.get<ast::Field>()) return call_method(*field, std::move(given), span, scope);
  const auto* ref = callee.get<ast::NameRef>();
  if (ref == nullptr) return apply(check_expr(callee, scope), std::move(given), span, scope);
  const std::string& name = ref->name.text;
  Context& cx = scope.cx;
  // A param hides a function of its name only if it can be called itself: `dropout(x, dropout)`. What one of a wrong type can,
  // nobody knows.
  const auto can_be_called = [&](const ParamInfo& param) {
    const Kind kind = param.type.kind;
    return param.name == name &&
           (kind == Kind::Function || kind == Kind::Block || kind == Kind::List || param.type.is_error());
  };
  const bool is_model = name == "model" && scope.place == Place::Hook && scope.owner != nullptr && scope.owner->model;
  const bool is_own =
      is_model || scope.find_local(name) ||
      (scope.owner != nullptr && (scope.owner->members.contains(name) || scope.owner->fns.contains(name) ||
                                  std::any_of(scope.owner->params.begin(), scope.owner->params.end(), can_be_called)));
  if (is_own) return apply(check_name(callee, ref->name, scope), std::move(given), span, scope);
  CallSite site{name, ref->name.span, span, std::move(given), scope};
  const Symbol* symbol = cx.graph.find(scope.module, name);
  const bool is_users = symbol != nullptr && !cx.graph.modules[symbol->module].is_library;
  if (!is_users) {
    // A text may be piped into a method of its own.
    if (auto text = check_text_call(name, site)) return std::move(*text);
    if (auto builtin = check_builtin(name, site)) return std::move(*builtin);
    if (scope.place == Place::Data && (cx.graph.stages.contains(name) || symbol == nullptr)) {
      // `split repeat sample` are stages when their first argument is a stream.
      if (!site.given.empty() && !site.given[0].checked && !site.given[0].name && site.given[0].value != nullptr &&
          cx.graph.stages.contains(name)) {
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
  if (is_type_name(name)) return report_type_called(ref->name, site);
  // The arguments are looked at all the same: their mistakes are independent ones.
  report_unknown(ref->name, scope, {.given = &site.given, .empty_call = site.given.empty() ? span : Span{}});
  return ignore_arguments(site);
}

/// A call with what is wrong itself: names are looked up all the same, and nothing else is said.
Expr call_behind_mistake(const ast::Expr& callee, std::vector<Given> given, Span span, Scope& scope) {
  look_up_names(scope.cx, [&] { call_written(callee, std::move(given), span, scope); });
  return error_at(span);
}

}  // namespace

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

Expr check_call(const ast::Expr& expr, const ast::Call& call, Scope& scope, std::optional<Expr> piped) {
  const bool is_broken = piped && piped->type.is_error();
  std::vector<Given> given = given_of(call, std::move(piped));
  return is_broken ? call_behind_mistake(*call.callee, std::move(given), expr.span, scope)
                   : call_written(*call.callee, std::move(given), expr.span, scope);
}

namespace {

/// `value |> target`, whose value was checked.
Expr check_link(const ast::Expr& expr, const ast::Pipe& pipe, Expr value, Scope& scope) {
  const Span span = pipe.target->span;  // What is wrong with the value shows at the link that takes it.
  const auto* call = pipe.target->get<ast::Call>();
  const ast::Expr& callee = call != nullptr ? *call->callee : *pipe.target;
  const bool is_broken = value.type.is_error();
  if (call == nullptr && !is_broken && report_indexed_link(pipe, scope)) return error_at(expr.span);
  std::vector<Given> given = call != nullptr ? given_of(*call) : std::vector<Given>();
  given.insert(given.begin(), {std::nullopt, nullptr, std::move(value), span});
  return is_broken ? call_behind_mistake(callee, std::move(given), expr.span, scope)
                   : call_written(callee, std::move(given), expr.span, scope);
}

}  // namespace

Expr check_pipe(const ast::Expr& expr, const ast::Pipe& pipe, Scope& scope) {
  Context& cx = scope.cx;
  Expr value = check_expr(*pipe.value, scope);
  if (scope.place != Place::Member || !(value.type.kind == Kind::Block || holds_layers(value.type)))
    return check_link(expr, pipe, std::move(value), scope);
  // Where layers are made no values flow through them: what is meant is a chain.
  diagnostics::Sink found;
  std::optional<Expr> result;
  {
    const Aside aside(cx, found);
    result = check_link(expr, pipe, std::move(value), scope);
  }
  const auto told = std::ranges::find_if(found.reported(), [&](const diagnostics::Diagnostic& one) {
    return one.code == diagnostics::Code::E0309 && one.span == pipe.value->span;
  });
  if (told == found.reported().end()) {
    for (const diagnostics::Diagnostic& one : found.reported()) cx.report(one);
    return std::move(*result);
  }
  diagnostics::Diagnostic misplaced = *told;
  misplaced.helps.clear();
  cx.report(std::move(misplaced).help("layers that follow each other are a list: `[{}, {}]`",
                                      cx.source_text(pipe.value->span), cx.source_text(pipe.target->span)));
  return error_at(expr.span);
}

}  // namespace ltr::check
