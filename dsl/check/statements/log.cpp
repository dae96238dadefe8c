#include <utility>

#include "dsl/check/declarations/declarations.h"
#include "dsl/check/declarations/hook.h"
#include "dsl/check/statements/statements.h"

namespace ltr::check {

namespace {

const Hook* hook_of(const Scope& scope) {
  return scope.place == Place::Hook && scope.info != nullptr ? find_hook(scope.info->name) : nullptr;
}

/// The role that logs of a step or hook belong to, `train` of `train_epoch_end`.
std::string role_of(const Scope& scope) {
  if (const Hook* hook = hook_of(scope)) return std::string(hook->role);
  const std::string& name = scope.info != nullptr ? scope.info->name : "";
  return name == "train" || name == "val" || name == "test" ? name : "";
}

bool is_of_epoch(const Scope& scope) {
  const Hook* hook = hook_of(scope);
  return hook != nullptr && hook->is_of_epoch;
}

}  // namespace

void note_lost_log(const node::CallMetric& call, Scope& scope) {
  const auto* member = scope.cx.at(call.metric).get<node::Member>();
  if (member == nullptr) return;
  LogEntry entry;
  entry.name = member->name;
  entry.role = role_of(scope);
  entry.kind = "error";
  entry.owner = scope.owner != nullptr ? scope.owner->name : "";
  scope.cx.program.logs.push_back(std::move(entry));
}

Stmt check_log(const ast::Stmt& statement, const ast::Log& log, Scope& scope) {
  Context& cx = scope.cx;
  const std::string role = role_of(scope);
  if ((scope.place != Place::Step && scope.place != Place::Hook) || role.empty()) {
    // The first of several says it for the step.
    if (scope.place == Place::Step && std::exchange(scope.info->is_told_log, true))
      return {statement.span, stmt::Error{}};
    diagnostics::Diagnostic diagnostic = diag::log_misplaced(
        statement.span, scope.place == Place::Step ? "`log` has no meaning in step " + scope.info->name
                                                   : "`log` stands in steps and in hooks of train, val and test");
    if (const auto near = scope.place == Place::Step ? step_meant_by(scope.info->name) : std::nullopt;
        near && *near != "predict")
      diagnostic.help("did you mean `{}`?", *near).fix(scope.info->ast->name.span, *near);
    cx.report(std::move(diagnostic));
    return {statement.span, stmt::Error{}};
  }
  Expr value = log.value ? check_expr(*log.value, scope) : check_name({}, log.name, scope);
  LogEntry entry;
  entry.name = log.name.text;
  entry.role = role;
  if (value.type.is_error()) {
    // Still logged, so that a monitor of it is no second mistake.
    entry.kind = "error";
    entry.owner = scope.owner != nullptr ? scope.owner->name : "";
    cx.program.logs.push_back(std::move(entry));
    return {statement.span, stmt::Error{}};
  }
  entry.bar = log.bar;
  entry.owner = scope.owner != nullptr ? scope.owner->name : "";
  entry.span = log.name.span;
  entry.is_whole = is_of_epoch(scope);
  const bool is_metric = value.type.kind == Kind::MetricValue;
  if (const auto* update = value.get<node::CallMetric>())
    entry.better = cx.program.metrics[cx.at(update->metric).type.decl].better;
  switch (log.kind) {
    case ast::LogKind::Scalar:
      entry.kind = is_metric ? "metric" : "scalar";
      if (!is_metric && !value.type.is_host_number() && !(value.type.is_tensor() && value.type.dims.empty())) {
        cx.report(
            diag::wrong_type(value.span, "`log` takes a number, a 0-d tensor or a metric, not " + cx.text(value.type)));
        return {statement.span, stmt::Error{}};
      }
      break;
    case ast::LogKind::Image: entry.kind = "image"; break;
    case ast::LogKind::Histogram: entry.kind = "histogram"; break;
    case ast::LogKind::Text: entry.kind = "text"; break;
  }
  if ((log.kind == ast::LogKind::Image || log.kind == ast::LogKind::Histogram) && !is_metric &&
      !value.type.is_tensor()) {
    cx.report(diag::wrong_type(value.span, "a tensor is wanted here, not " + cx.text(value.type)));
    return {statement.span, stmt::Error{}};
  }
  if (log.kind == ast::LogKind::Text && value.type.kind == Kind::Texts) {
    const Span span = value.span;
    value = op_expr(library::Id::ShowTexts, Type::of(Kind::Str), span, {cx.keep(std::move(value))});
  }
  if (log.kind == ast::LogKind::Text && value.type.kind != Kind::Str) {
    cx.report(diag::wrong_type(value.span, "`log text` takes a str, not " + cx.text(value.type)));
    return {statement.span, stmt::Error{}};
  }
  const bool on_step = role == "train" && scope.info->name != "train_epoch_end" && scope.info->name != "train_end";
  switch (log.when) {
    case ast::LogWhen::Default: entry.when = on_step && !is_metric ? "step" : "epoch"; break;
    case ast::LogWhen::Step: entry.when = "step"; break;
    case ast::LogWhen::Epoch: entry.when = "epoch"; break;
    case ast::LogWhen::Both: entry.when = "both"; break;
  }
  if (!on_step && entry.when != "epoch") {
    cx.report(diag::log_misplaced(log.when_span, "outside of training values are recorded on epoch only"));
    entry.when = "epoch";
  }
  entry.reduce = "mean";
  if (log.reduce) {
    static const std::set<std::string> kReduces = {"sum", "mean", "min", "max"};
    if (!kReduces.contains(log.reduce->text)) {
      cx.report(diag::log_misplaced(log.reduce->span, "`log` reduces by sum, mean, min or max"));
    } else if (is_metric) {
      cx.report(diag::log_misplaced(log.reduce->span, "a metric brings its own reduction"));
    } else {
      entry.reduce = log.reduce->text;
    }
  }
  if (const auto* update = value.get<node::CallMetric>()) {
    // Which direction is better nobody knows of a metric that says it wrongly.
    if (cx.program.metrics[cx.at(update->metric).type.decl].is_damaged) entry.kind = "error";
  }
  for (const LogEntry& other : cx.program.logs) {
    if (other.kind != "error" && other.owner == entry.owner && other.role == entry.role && other.name == entry.name &&
        (other.kind != entry.kind || other.when != entry.when || other.reduce != entry.reduce)) {
      cx.report(diag::logged_twice(log.name.span, role + "." + entry.name).label(other.span, "first here"));
    }
  }
  const auto slot = uint32_t(cx.program.logs.size());
  cx.program.logs.push_back(std::move(entry));
  return {statement.span, stmt::Log{slot, cx.keep(std::move(value))}};
}

}  // namespace ltr::check
