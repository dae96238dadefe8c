#include <algorithm>

#include "dsl/check/expressions/expressions.h"
#include "dsl/diagnostics/suggest.h"
#include "runtime/tables/roles.h"

namespace ltr::check {

namespace {

/// What is logged, as a series names it, where a stream of several does not matter.
std::vector<std::string> logged_names(const Context& cx) {
  std::vector<std::string> names;
  for (const LogEntry& log : cx.program.logs) {
    if (log.kind == "scalar" || log.kind == "metric") names.push_back(log.role + "." + log.name);
  }
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  return names;
}

}  // namespace

void report_no_series(Span span, Context& cx) {
  diagnostics::Diagnostic diagnostic = diag::wrong_type(span, "a series such as `val.loss` is wanted");
  // `"val/loss"`, `val/loss` and `val_loss` are how others write it.
  std::string text = cx.source_text(span);
  std::erase(text, '"');
  std::replace(text.begin(), text.end(), '/', '.');
  std::vector<std::string> meant;
  for (const std::string& name : logged_names(cx)) {
    std::string joined = name;
    std::replace(joined.begin(), joined.end(), '.', '_');
    if (name == text || joined == text || name.ends_with("." + text)) meant.push_back(name);
  }
  const auto of_val =
      std::find_if(meant.begin(), meant.end(), [](const auto& name) { return name.starts_with("val."); });
  if (!meant.empty()) {
    const std::string& name = of_val != meant.end() ? *of_val : meant.front();
    diagnostic.help("`{}`", name);
    if (meant.size() == 1) diagnostic.fix(span, name);
  } else if (!logged_names(cx).empty()) {
    std::string list;
    for (const std::string& name : logged_names(cx)) list += (list.empty() ? "" : ", ") + name;
    diagnostic.note("logged are: {}", list);
  }
  cx.report(std::move(diagnostic));
}

namespace {

/// What a series begins with: the role that records it, or what is recorded unasked.
std::vector<std::string> series_origins() {
  std::vector<std::string> names;
  for (const RoleRow& role : kRoleRows) names.emplace_back(role.name);
  names.emplace_back("lr");
  return names;
}

/// Nothing logs it, in whatever experiment.
void report_no_origin(const std::string& series, const ast::NameRef& origin, Span span, Context& cx) {
  diagnostics::Diagnostic diagnostic = diag::monitor_unknown(span, series);
  const std::vector<std::string> names = logged_names(cx), origins = series_origins();
  if (const auto near = diagnostics::suggest(series, names)) {
    add_near(diagnostic, series, span, *near);
  } else if (!did_you_mean(diagnostic, origin.name.text, origin.name.span, origins)) {
    diagnostic.note("series are of {}: `val.loss`", diagnostics::listed(origins));
  }
  if (!names.empty()) diagnostic.note("logged are: {}", diagnostics::listed(names));
  cx.report(std::move(diagnostic));
}

/// The 3 of `val.acc[3]`.
std::optional<int64_t> written_index(const ast::Index& index) {
  if (index.items.size() != 1 || index.items[0].kind != ast::IndexItem::Kind::Expr) return std::nullopt;
  const auto* number = (*index.items[0].first)->get<ast::IntLiteral>();
  return number != nullptr ? std::optional(number->value) : std::nullopt;
}

}  // namespace

Expr check_series(const ast::Expr& expr, const Type& wanted, const Scope& scope) {
  if (expr.is_error()) return error_at(expr.span);
  std::string series, index;
  const ast::Expr* at = &expr;
  if (const auto* part = expr.get<ast::Index>()) {
    const std::optional<int64_t> number = written_index(*part);
    if (!number) {
      scope.cx.report(diag::wrong_type(expr.span, "a series of several has a number behind it: `val.acc[0]`"));
      return error_at(expr.span);
    }
    index = "[" + std::to_string(*number) + "]";
    at = &*part->base;
  }
  while (const auto* field = at->get<ast::Field>()) {
    series = field->name.text + (series.empty() ? "" : "." + series);
    at = &*field->base;
  }
  const auto* name = at->get<ast::NameRef>();
  if (name == nullptr || series.empty()) {
    report_no_series(expr.span, scope.cx);
    return error_at(expr.span);
  }
  series = name->name.text + "." + series;
  const std::vector<std::string> origins = series_origins();
  if (std::find(origins.begin(), origins.end(), name->name.text) == origins.end()) {
    report_no_origin(series, *name, expr.span, scope.cx);
    return error_at(expr.span);
  }
  return {wanted, expr.span, node::Series{series + index}};
}

}  // namespace ltr::check
