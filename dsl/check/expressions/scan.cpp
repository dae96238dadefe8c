#include <algorithm>

#include "dsl/ast/assigned.h"
#include "dsl/ast/walk.h"
#include "dsl/check/statements/statements.h"

namespace ltr::check {

namespace {

/// A stack of what the loop yields: one more axis where the sequence has its own.
std::optional<Type> stacked(const ExprView& value, size_t axis, const Polynomial& size, Scope& scope) {
  if (!value.type.is_tensor()) {
    if (!value.type.is_error()) {
      scope.cx.report(diag::wrong_type(
          value.span, "`yield` gives a tensor, or a tuple of tensors, not " + scope.cx.text(value.type)));
    }
    return std::nullopt;
  }
  if (axis > value.type.dims.size()) {
    scope.cx.report(diag::wrong_rank(value.span, "the yields are stacked along axis " + std::to_string(axis) +
                                                     ", which " + scope.cx.text(value.type) + " has no room for"));
    return std::nullopt;
  }
  Type type = value.type;
  type.dims.insert(type.dims.begin() + long(axis), Dim{.size = size, .group = 0});
  return type;
}

Type stacked_type(const ExprView& value, size_t axis, const Polynomial& size, Scope& scope) {
  const auto* parts = value.get<node::Tuple>();
  if (parts == nullptr) return stacked(value, axis, size, scope).value_or(Type::error());
  Type tuple = Type::of(Kind::Tuple);
  for (const ExprId part : parts->elements) {
    const auto type = stacked(scope.cx.at(part), axis, size, scope);
    if (!type) return Type::error();
    tuple.fields.push_back({"", *type});
  }
  return tuple;
}

/// A `return` among statements.
struct FindReturn {
  const ast::Stmt* found = nullptr;

  void operator()(const ast::Stmt& stmt) {
    if (stmt.get<ast::Return>() != nullptr) found = &stmt;
    ast::for_each_child(stmt, *this);
  }
  void operator()(const auto&) {}
};

/// E0322: what another language returns of each step is yielded here.
bool report_return(const ast::Body& body, Context& cx) {
  FindReturn look;
  for (const ast::Stmt& stmt : body) look(stmt);
  if (look.found == nullptr) return false;
  diagnostics::Diagnostic diagnostic = diag::wrong_place(look.found->span, "`return` does not leave a `scan`");
  const auto& value = look.found->get<ast::Return>()->value;
  if (value)
    diagnostic.help("what is stacked is yielded, at the end of its body: `yield {}`", cx.source_text(value->span));
  else
    diagnostic.help("it goes on to the end of the sequence");
  cx.report(std::move(diagnostic));
  return true;
}

}  // namespace

Expr check_scan(const ast::Expr& expr, const ast::Scan& scan, Scope& scope) {
  Context& cx = scope.cx;
  Expr sequence = check_expr(*scan.sequence, scope);
  const Expr dim = check_as(*scan.dim, Type::of(Kind::Int), scope, "the dim of `scan`");
  if (report_return(*scan.body, cx)) return error_at(expr.span);
  std::vector<Expr> initials;
  for (const ast::ScanCarry& carry : scan.carried) initials.push_back(check_expr(*carry.initial, scope));
  if (!sequence.type.is_error() && !sequence.type.is_tensor()) {
    cx.report(diag::wrong_type(sequence.span, "`scan` runs over a tensor, not " + cx.text(sequence.type))
                  .help("over a range of ints runs `for`"));
    sequence.type = Type::error();
  }
  node::Scan result;
  Type element = Type::error();
  Polynomial size;
  const auto number = dim.type.value ? dim.type.value->constant() : std::nullopt;
  if (!dim.type.is_error() && !number) cx.report(diag::not_a_constant(dim.span, "the dim of `scan`"));
  if (sequence.type.is_tensor() && number) {
    const int64_t rank = int64_t(sequence.type.dims.size());
    result.axis = *number < 0 ? *number + rank : *number;
    if (result.axis < 0 || result.axis >= rank) {
      cx.report(diag::unknown_axis(dim.span, std::to_string(*number), cx.text(sequence.type)));
    } else {
      element = sequence.type;
      size = element.dims[size_t(result.axis)].size;
      element.dims.erase(element.dims.begin() + long(result.axis));
    }
  }
  scope.frames.emplace_back();
  result.element = scope.declare(scan.element.text, element);
  bool has_error = element.is_error();
  for (size_t i = 0; i < scan.carried.size(); ++i) {
    has_error = has_error || initials[i].type.is_error();
    Type type = initials[i].type;
    forget_sizes(type, cx);
    const LocalId local = scope.declare(scan.carried[i].name.text, std::move(type));
    result.carried.push_back({local, cx.keep(std::move(initials[i]))});
  }
  const bool outer = std::exchange(scope.in_scan, true);
  ++scope.loop_depth;
  result.body = check_nested(*scan.body, scope);
  --scope.loop_depth;
  scope.in_scan = outer;
  scope.frames.pop_back();
  has_error = has_error || std::any_of(result.body.begin(), result.body.end(), [&](const Stmt& stmt) {
                const auto* let = stmt.get<stmt::Let>();
                return stmt.is<stmt::Error>() || (let != nullptr && cx.at(let->value).type.is_error());
              });
  if (has_error) return error_at(expr.span);
  const auto* yield = result.body.empty() ? nullptr : result.body.back().get<stmt::Yield>();
  if (yield == nullptr) {
    cx.report(diag::scan_without_yield(expr.span).help("end its body with `yield h`"));
    return error_at(expr.span);
  }
  const std::set<std::string> assigned = ast::assigned_names(*scan.body);
  for (const ast::ScanCarry& carry : scan.carried) {
    if (assigned.contains(carry.name.text) || carry.name.text.starts_with('_')) continue;
    cx.report(diag::never_changed(carry.name.span, "`" + carry.name.text + "`, which the scan carries")
                  .note("each round begins with what the first one did")
                  .help("`{} = …` in its body", carry.name.text));
  }
  Type type = stacked_type(cx.at(yield->value), size_t(result.axis), size, scope);
  if (type.is_error()) return error_at(expr.span);
  result.sequence = cx.keep(std::move(sequence));
  return {std::move(type), expr.span, std::move(result)};
}

}  // namespace ltr::check
