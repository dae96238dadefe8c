#include "dsl/check/experiment/wired.h"
#include "dsl/check/walk.h"

namespace ltr::check {

namespace {

/// The metric member that a logged value is of; "" if it is none.
std::string metric_of(const ExprView& value, const Context& cx) {
  const auto* call = value.get<node::CallMetric>();
  const auto* member = call != nullptr ? cx.at(call->metric).get<node::Member>() : nullptr;
  return member != nullptr ? member->name : "";
}

/// One metric under two names is updated by both calls, and shows the two together.
void check_body_metrics(Context& cx, const Body& body) {
  std::map<std::string, const stmt::Log*> first;
  for (const Stmt& stmt : body) {
    const auto* log = stmt.get<stmt::Log>();
    const std::string metric = log != nullptr ? metric_of(cx.at(log->value), cx) : "";
    if (metric.empty()) continue;
    const auto [place, is_new] = first.try_emplace(metric, log);
    const LogEntry& entry = cx.program.logs[log->slot];
    const LogEntry& before = cx.program.logs[place->second->slot];
    if (is_new || entry.name == before.name) continue;
    cx.report(diag::metric_updated_twice(cx.at(log->value).span, metric, before.name, entry.name)
                  .label(cx.at(place->second->value).span, "first here")
                  .help("declare a second one, `{}_{} = …`", metric, entry.name));
  }
}

/// Two logs of one name that both run, one after the other, record the mean of two values.
void check_body_logs(Context& cx, const Body& body) {
  check_body_metrics(cx, body);
  std::map<std::string, const stmt::Log*> first;
  for (const Stmt& stmt : body) {
    for_each_body(stmt, [&](const Body& inner) { check_body_logs(cx, inner); });
    const auto* log = stmt.get<stmt::Log>();
    if (log == nullptr) continue;
    const LogEntry& entry = cx.program.logs[log->slot];
    if (entry.kind != "scalar" && entry.kind != "metric") continue;
    const auto [place, is_new] = first.try_emplace(entry.name, log);
    if (is_new) continue;
    const std::string before = cx.source_text(cx.at(place->second->value).span);
    // The same number twice is that number; a metric is updated twice.
    const ExprView value = cx.at(log->value);
    if (before == cx.source_text(value.span) && metric_of(value, cx).empty()) continue;
    if (is_reported(cx, diagnostics::Code::E0411, entry.span)) continue;  // A copy of the step is the same code.
    cx.report(diag::logged_twice(entry.span, entry.role + "." + entry.name)
                  .label(cx.program.logs[place->second->slot].span, "first here"));
  }
}

/// Of a name that the model logs and a callback, or two callbacks, the later value stands for both.
void check_logs_together(Context& cx, const Experiment& experiment) {
  if (experiment.model >= cx.program.models.size()) return;
  std::map<std::pair<std::string, std::string>, const LogEntry*> first;  // by role and name
  const auto add = [&](const std::string& owner) {
    for (const LogEntry& entry : cx.program.logs) {
      if (entry.owner != owner || entry.kind == "error") continue;
      const auto [place, is_new] = first.try_emplace({entry.role, entry.name}, &entry);
      if (is_new || place->second->owner == owner || is_reported(cx, diagnostics::Code::E0411, entry.span)) continue;
      cx.report(diag::logged_twice(entry.span, entry.role + "." + entry.name)
                    .label(place->second->span, "`{}` logs it here", place->second->owner));
    }
  };
  add(cx.program.models[experiment.model].name);
  std::set<std::string> listed;  // One that is listed twice is one mistake, and another one.
  for (const Expr& callback : experiment.callbacks) {
    const auto* call = callback.get<node::Call>();
    if (call != nullptr && listed.insert(call->name).second) add(call->name);
  }
}

}  // namespace

void check_logged_names(Context& cx) {
  for (const Experiment& experiment : cx.program.experiments) check_logs_together(cx, experiment);
  for (const Object& model : cx.program.models) {
    if (model.is_library) continue;
    for (const uint32_t fn : model.fns) {
      if (cx.program.fns[fn].role == FnRole::Step) check_body_logs(cx, cx.program.fns[fn].body);
    }
  }
}

}  // namespace ltr::check
