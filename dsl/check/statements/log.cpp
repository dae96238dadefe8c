#include <algorithm>
#include <utility>

#include "dsl/check/declarations/declarations.h"
#include "dsl/check/declarations/hook.h"
#include "dsl/check/experiment/wired.h"
#include "dsl/check/statements/reductions.h"
#include "dsl/check/statements/statements.h"
#include "runtime/tables/roles.h"

namespace ltr::check {

namespace {

const Hook* hook_of(const Scope& scope) {
  return scope.place == Place::Hook && scope.info != nullptr ? find_hook(scope.info->name) : nullptr;
}

/// The role that logs of a step or hook belong to, `train` of `train_epoch_end`.
std::string role_of(const Scope& scope) {
  if (const Hook* hook = hook_of(scope)) return std::string(hook->role);
  const std::string& name = scope.info != nullptr ? scope.info->name : "";
  return is_logging_role(name) ? name : "";
}

bool is_of_epoch(const Scope& scope) {
  const Hook* hook = hook_of(scope);
  return hook != nullptr && hook->is_of_epoch;
}

/// Takes `name` for logged by steps of `role`, so that a monitor of it is no second mistake.
void lose_log(const std::string& name, const std::string& role, const Scope& scope) {
  LogEntry entry;
  entry.name = name;
  entry.role = role;
  entry.kind = "error";
  entry.owner = scope.owner != nullptr ? scope.owner->name : "";
  scope.cx.program.logs.push_back(std::move(entry));
}

/// E0423; the first of several says it for the step.
void report_misplaced(const ast::Stmt& statement, const ast::Log& log, Scope& scope) {
  if (scope.place != Place::Step) {
    scope.cx.report(diag::log_misplaced(statement.span, "`log` stands in steps and in hooks of train, val and test"));
    return;
  }
  const auto near = step_meant_by(*scope.info);
  const bool is_meant = near && is_logging_role(*near);
  // What the step that is meant would log is no mistake of those who read it.
  if (is_meant) lose_log(log.name.text, *near, scope);
  if (std::exchange(scope.info->is_told_log, true)) return;
  const std::string text = "`log` has no meaning in step " + scope.info->name;
  // Of a step that is called otherwise than it is meant, the name is wrong and not the log.
  const Span written = scope.info->ast->name.span, name = scope.info->span;
  const bool is_copy = name != written;  // `step tests = val`
  diagnostics::Diagnostic diagnostic = diag::log_misplaced(is_meant || is_copy ? name : statement.span, text);
  if (is_meant) add_near(diagnostic.label(statement.span, "logged here"), scope.info->name, name, *near);
  scope.cx.report(std::move(diagnostic));
}

const char* kind_of(ast::LogKind kind, bool is_metric) {
  switch (kind) {
    case ast::LogKind::Scalar: return is_metric ? "metric" : "scalar";
    case ast::LogKind::Image: return "image";
    case ast::LogKind::Histogram: return "histogram";
    case ast::LogKind::Text: return "text";
  }
  return "";
}

bool has_rest(const std::vector<Dim>& dims) {
  return std::any_of(dims.begin(), dims.end(), [](const Dim& dim) { return dim.group != 0; });
}

/// An image as loggers take it: `[H, W]`, `[C, H, W]` of at most 4 channels, or several of these.
bool check_image(const ExprView& value, Context& cx) {
  const std::vector<Dim>& dims = value.type.dims;
  if (has_rest(dims)) return true;
  if (dims.size() < 2 || dims.size() > 4) {
    cx.report(
        diag::wrong_rank(value.span, "an image is [C, H, W], [N, C, H, W] or [H, W], not " + cx.text(value.type)));
    return false;
  }
  const Element element = value.type.element;
  if (element != Element::U8 && element != Element::Bool && !is_floating(element)) {
    cx.report(diag::wrong_element(value.span, "an image is `u8`, or `float` from 0 to 1, not " + cx.text(value.type)));
    return false;
  }
  const auto channels = dims.size() == 2 ? std::nullopt : dims[dims.size() - 3].size.constant();
  if (!channels || (*channels >= 1 && *channels <= 4)) return true;
  diagnostics::Diagnostic diagnostic = diag::wrong_rank(
      value.span, "an image has 1 to 4 channels, and " + cx.text(value.type) + " has " + std::to_string(*channels));
  if (dims.size() == 3) diagnostic.help("one channel of several images: `.unsqueeze(1)`");
  cx.report(std::move(diagnostic));
  return false;
}

/// The metric whose value it is, as it is written.
std::string written_metric(const ExprView& value, const Context& cx) {
  const auto* call = value.get<node::CallMetric>();
  return call != nullptr ? cx.source_text(cx.at(call->metric).span) : cx.source_text(value.span);
}

/// A picture of what a metric gives when its epoch ends: of a matrix, or an image.
bool check_picture(const ExprView& value, Context& cx) {
  const std::vector<Dim>& dims = value.type.dims;
  if (has_rest(dims) || dims.size() > 1) return true;
  const std::string given = dims.empty() ? "one number" : cx.text(Type::tensor(value.type.element, dims));
  cx.report(
      diag::wrong_rank(value.span, "a picture shows a matrix, and `" + written_metric(value, cx) + "` gives " + given));
  return false;
}

/// Whether it is a metric of the model itself, of which a run knows how many values it gives.
bool is_of_model(const ExprView& value, const Scope& scope) {
  const auto* call = value.get<node::CallMetric>();
  const auto* member = call != nullptr ? scope.cx.at(call->metric).get<node::Member>() : nullptr;
  if (member == nullptr) return false;
  const ExprView object = scope.cx.at(member->object);
  return object.is<node::ModelOf>() ||
         (object.is<node::Self>() && scope.owner != nullptr && scope.owner->kind == Kind::Model);
}

/// Whether the values of a metric can be series: one, or a vector of a length that is known when the model is built.
bool can_be_series(const ExprView& value, const ast::Log& log, const Scope& scope) {
  Context& cx = scope.cx;
  const std::vector<Dim>& dims = value.type.dims;
  // Of which rank it is may hang on a run, which sees to it.
  if (has_rest(dims)) return true;
  const std::string metric = written_metric(value, cx);
  if (dims.size() > 1) {
    cx.report(diag::wrong_type(value.span, "`log` records numbers, and `" + metric + "` gives " +
                                               cx.text(Type::tensor(value.type.element, dims)))
                  .help("shown as a picture: `log image {} = {}`", log.name.text, cx.source_text(value.span)));
    return false;
  }
  if (dims.size() == 1 && cx.program.atoms.mentions_unknown(dims[0].size)) {
    cx.report(
        diag::wrong_type(value.span, "only a run knows how many values `" + metric + "` gives, and each is a series")
            .help("what gives several says how many by a parameter: `fn compute() -> float[classes]`"));
    return false;
  }
  if (dims.size() == 1 && !is_of_model(value, scope)) {
    cx.report(diag::wrong_type(
                  value.span,
                  "`" + metric + "` gives several values, and only of a metric of the model itself each is a series")
                  .help("declare it in the model: `{} = …`", log.name.text));
    return false;
  }
  if (dims.size() == 1 && log.bar) {
    cx.report(
        diag::log_misplaced(log.name.span, "`bar` shows one number, and `" + metric + "` gives one for each class")
            .help("log a second metric with `average = macro`, or leave `bar` out"));
  }
  return true;
}

/// The value as loggers take it, an error after a report.
Expr as_logged(Expr value, const ast::Log& log, Scope& scope) {
  Context& cx = scope.cx;
  const Type& type = value.type;
  const auto wrong = [&](const std::string& what) {
    diagnostics::Diagnostic diagnostic = diag::wrong_type(value.span, what + ", not " + cx.text(type));
    if (type.kind == Kind::Metric)
      diagnostic.help("call it, with what it compares: `log {} = {}(…)`", log.name.text, cx.source_text(value.span));
    if (type.is_tensor()) {
      forget(value, diagnostic, scope);
    }
    cx.report(std::move(diagnostic));
    return error_at(value.span);
  };
  const bool is_metric = type.kind == Kind::MetricValue;
  switch (log.kind) {
    case ast::LogKind::Scalar:
      if (!is_metric && !type.is_host_number() && !(type.is_tensor() && type.dims.empty()))
        return wrong("`log` takes a number, a 0-d tensor or a metric");
      return is_metric && !can_be_series(value, log, scope) ? error_at(value.span) : value;
    case ast::LogKind::Image:
    case ast::LogKind::Histogram:
      // What a metric gives is there when its epoch ends, and a distribution is recorded when it is logged.
      if (!type.is_tensor() && !(is_metric && log.kind == ast::LogKind::Image)) return wrong("a tensor is wanted here");
      if (log.kind == ast::LogKind::Image && !(is_metric ? check_picture(value, cx) : check_image(value, cx)))
        return error_at(value.span);
      return value;
    case ast::LogKind::Text: break;
  }
  if (type.kind == Kind::Texts) {
    const Span span = value.span;
    return op_expr(library::Id::ShowTexts, Type::of(Kind::Str), span, {cx.keep(std::move(value))});
  }
  if (type.kind != Kind::Str) return wrong("`log text` takes a str");
  return value;
}

/// Whether the step is a copy of one that trains where none is meant to, which is said.
bool is_wrong_copy(const Scope& scope) {
  const ast::Fn* original = scope.place == Place::Step ? scope.info->ast : nullptr;
  if (original == nullptr || original->name.span == scope.info->span || !is_evaluating_role(scope.info->name) ||
      is_evaluating_role(original->name.text))
    return false;
  Find<ast::Minimize> minimized;
  for (const ast::Stmt& statement : original->body) minimized(statement);
  return minimized.found;
}

/// E0612: what a log says twice, one of which would count for nothing.
void report_repeated(const ast::Log& log, Context& cx) {
  for (const ast::Name& word : log.repeated) {
    if (is_reported(cx, diagnostics::Code::E0612, word.span)) continue;  // A copy of the step is the same code.
    diagnostics::Diagnostic diagnostic = diag::setting_twice(word.span, word.text);
    if (word.text == "on") diagnostic.label(log.when_span, "first here");
    if (word.text == "on" && cx.source_text(word.span) != cx.source_text(log.when_span))
      diagnostic.help("each step, and their mean over the epoch, is `on both`")
          .fix(source::join(log.when_span, word.span), "both");
    cx.report(std::move(diagnostic));
  }
}

const char* when_of(const ast::Log& log, bool is_metric, const Scope& scope) {
  const std::string& place = scope.info->name;
  const bool on_step = role_of(scope) == "train" && place != "train_epoch_end" && place != "train_end";
  const bool may_step = log.when == ast::LogWhen::Step || log.when == ast::LogWhen::Both;
  if (!on_step && may_step && !is_wrong_copy(scope))
    scope.cx.report(diag::log_misplaced(log.when_span, "outside of training values are recorded on epoch only"));
  if (!on_step || log.when == ast::LogWhen::Epoch) return "epoch";
  if (log.when == ast::LogWhen::Default) return is_metric ? "epoch" : "step";
  return log.when == ast::LogWhen::Both ? "both" : "step";
}

std::string reduction_of(const ast::Log& log, bool is_metric, Context& cx) {
  if (!log.reduce) return "mean";
  const Reduction* reduction = find_reduction(log.reduce->text);
  if (reduction == nullptr || !reduction->is_of_logs) {
    cx.report(diag::log_misplaced(log.reduce->span, "`log` reduces by sum, mean, min or max"));
  } else if (is_metric) {
    cx.report(diag::log_misplaced(log.reduce->span, "a metric brings its own reduction"));
  } else {
    return log.reduce->text;
  }
  return "mean";
}

}  // namespace

void note_lost_log(const node::CallMetric& call, Scope& scope) {
  const auto* member = scope.cx.at(call.metric).get<node::Member>();
  if (member != nullptr) lose_log(member->name, role_of(scope), scope);
}

Stmt check_log(const ast::Stmt& statement, const ast::Log& log, Scope& scope) {
  Context& cx = scope.cx;
  const std::string role = role_of(scope);
  if ((scope.place != Place::Step && scope.place != Place::Hook) || role.empty()) {
    report_misplaced(statement, log, scope);
    return {statement.span, stmt::Error{}};
  }
  report_repeated(log, cx);
  LogEntry entry;
  entry.name = log.name.text;
  entry.role = role;
  entry.owner = scope.owner != nullptr ? scope.owner->name : "";
  Expr value = log.value ? check_expr(*log.value, scope) : check_name({}, log.name, scope);
  if (!value.type.is_error()) value = as_logged(std::move(value), log, scope);
  if (value.type.is_error()) {
    // Still logged, so that a monitor of it is no second mistake.
    entry.kind = "error";
    cx.program.logs.push_back(std::move(entry));
    return {statement.span, stmt::Error{}};
  }
  const bool is_metric = value.type.kind == Kind::MetricValue;
  entry.kind = kind_of(log.kind, is_metric);
  entry.bar = log.bar;
  entry.span = log.name.span;
  entry.is_whole = is_of_epoch(scope);
  entry.when = when_of(log, is_metric, scope);
  entry.reduce = reduction_of(log, is_metric, cx);
  if (const auto* update = value.get<node::CallMetric>()) {
    const Object& metric = cx.program.metrics[cx.at(update->metric).type.decl];
    entry.better = metric.better;
    // Which direction is better nobody knows of a metric that says it wrongly.
    if (metric.is_damaged) entry.kind = "error";
    const auto* member = cx.at(update->metric).get<node::Member>();
    if (entry.kind == "metric" && value.type.dims.size() == 1 && member != nullptr) {
      entry.each = member->name;
      entry.length = value.type.dims[0].size.constant();
    }
  }
  for (const LogEntry& other : cx.program.logs) {
    if (other.kind != "error" && other.owner == entry.owner && other.role == entry.role && other.name == entry.name &&
        (other.kind != entry.kind || other.when != entry.when || other.reduce != entry.reduce ||
         other.each != entry.each) &&
        !is_reported(cx, diagnostics::Code::E0411, log.name.span)) {  // A copy of the step is the same code.
      cx.report(diag::logged_twice(log.name.span, role + "." + entry.name).label(other.span, "first here"));
    }
  }
  const auto slot = uint32_t(cx.program.logs.size());
  cx.program.logs.push_back(std::move(entry));
  return {statement.span, stmt::Log{slot, cx.keep(std::move(value))}};
}

}  // namespace ltr::check
