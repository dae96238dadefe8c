#include <algorithm>
#include <utility>

#include "dsl/ast/walk.h"
#include "dsl/check/expressions/rounds.h"

namespace ltr::check {

namespace {

/// More fit into no memory.
constexpr int64_t kMostElements = 1'000'000'000;

/// Looks for a lambda that reads the variable `name` from around it.
struct LambdaThatReads {
  const std::string& name;
  bool is_in_lambda = false;
  const ast::Expr* found = nullptr;

  void operator()(const auto& node) { ast::for_each_child(node, *this); }
  void operator()(const ast::Expr& expr) {
    const auto* lambda = expr.get<ast::Lambda>();
    if (lambda != nullptr && lambda->param.text == name) return;
    const auto* ref = expr.get<ast::NameRef>();
    if (is_in_lambda && found == nullptr && ref != nullptr && ref->name.text == name) found = &expr;
    const bool was_in_lambda = is_in_lambda;
    is_in_lambda = is_in_lambda || lambda != nullptr;
    ast::for_each_child(expr, *this);
    is_in_lambda = was_in_lambda;
  }
};

bool holds_function(const Type& type) {
  return type.kind == Kind::Function || std::any_of(type.fields.begin(), type.fields.end(),
                                                    [](const TypeField& field) { return holds_function(field.type); });
}

}  // namespace

Expr check_comprehension(const ast::Expr& expr, const ast::Comprehension& list, Scope& scope) {
  Expr range = check_expr(*list.range, scope);
  if (range.type.is_error()) return error_at(expr.span);
  if (range.type.kind != Kind::Range) {
    diagnostics::Diagnostic diagnostic = diag::wrong_type(
        range.span, "a comprehension runs over a range `a .. b`, not over " + scope.cx.text(range.type));
    const std::string text = scope.cx.source_text(range.span);
    if (range.type.kind == Kind::List)
      diagnostic.help("over the places of a list: `[… {}[i] … for i in 0 .. {}.length]`", text, text);
    scope.cx.report(std::move(diagnostic));
    return error_at(expr.span);
  }
  scope.frames.emplace_back();
  const std::vector<Rounds> rounds = scope.rounds;
  const AtomId atom = enter_rounds(list.variable, range, scope);
  const LocalId variable = scope.declare(list.variable.text, Type::host_int(Polynomial::atom(atom)));
  const bool has_elements = scope.rounds.size() > rounds.size();
  const bool around = std::exchange(scope.may_not_happen, scope.may_not_happen || !has_elements);
  Expr element = check_expr(*list.element, scope);
  scope.may_not_happen = around;
  scope.rounds = rounds;
  scope.frames.pop_back();
  if (element.type.is_error()) return error_at(expr.span);
  LambdaThatReads lambda{list.variable.text};
  if (holds_function(element.type)) lambda(*list.element);
  if (lambda.found != nullptr) {
    scope.cx.report(diag::wrong_type(element.span,
                                     "a comprehension makes values, and a function without a name is none: it is read "
                                     "anew where it is applied, and there is no `" +
                                         list.variable.text + "` then")
                        .help("write them one by one, or a `block` with a parameter: `[Scale({}) for {} in …]`",
                              list.variable.text, list.variable.text));
    return error_at(expr.span);
  }
  Type type = Type::list_of(element.type);
  const auto* bounds = range.get<node::Range>();
  const Type& from = scope.cx.at(bounds->from).type;
  const Type& to = scope.cx.at(bounds->to).type;
  type.value = from.value && to.value ? *to.value - *from.value : scope.cx.program.atoms.unknown();
  if (const auto count = type.value->constant(); count && *count > kMostElements) {
    scope.cx.report(diag::out_of_range(range.span, "a list has at most 1,000,000,000 elements"));
    return error_at(expr.span);
  }
  // What the variable is in the first element.
  type.arguments.emplace_back(atom, from.value ? *from.value : scope.cx.program.atoms.unknown());
  return {std::move(type), expr.span,
          node::Comprehension{variable, bounds->from, bounds->to, scope.cx.keep(std::move(element))}};
}

}  // namespace ltr::check
