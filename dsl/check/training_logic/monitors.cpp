#include "dsl/check/context.h"
#include "dsl/diagnostics/suggest.h"

namespace ltr::check {

namespace {

struct Logged {
  std::string better;
  bool is_error = false;  ///< what is logged has a mistake of its own
};

/// All series of an experiment: what its model and callbacks log, and what is recorded unasked.
std::map<std::string, Logged> logged_series(const Context& cx,
                                            const Experiment& experiment,
                                            const std::vector<std::string>& callbacks) {
  std::map<std::string, Logged> series;
  const Object& model = cx.program.models[experiment.model];
  for (const LogEntry& log : cx.program.logs) {
    const bool is_listed = log.owner == model.name || std::find(callbacks.begin(), callbacks.end(),
                                                                log.owner) != callbacks.end();
    if (!is_listed || (log.kind != "scalar" && log.kind != "metric" && log.kind != "error"))
      continue;
    Logged logged;
    logged.is_error = log.kind == "error";
    logged.better = log.better;
    for (const char* ending : {"loss", "error", "perplexity"}) {
      if (log.kind == "scalar" && log.name.ends_with(ending)) logged.better = "min";
    }
    series[log.role + "." + log.name] = logged;
  }
  for (const Member& member : model.members) {
    if (member.kind == MemberKind::Optimizer) series["lr." + member.name] = {};
  }
  return series;
}

void check_call(Context& cx, Expr& call, const std::map<std::string, Logged>& series) {
  std::optional<std::string> monitor;
  Span span;
  for (const Expr& arg : call.args) {
    if (arg.kind != ExprKind::Series) continue;
    monitor = arg.name;
    span = arg.span;
  }
  if (!monitor) return;
  const auto found = series.find(*monitor);
  if (found == series.end()) {
    std::vector<std::string> names;
    std::string list;
    for (const auto& [name, logged] : series) {
      names.push_back(name);
      list += (list.empty() ? "" : ", ") + name;
    }
    diagnostics::Diagnostic diagnostic = diag::monitor_unknown(span, *monitor);
    diagnostic.note("logged are: {}", list.empty() ? "nothing" : list);
    if (const auto near = diagnostics::suggest(*monitor, names))
      diagnostic.help("did you mean `{}`?", *near).fix(span, *near);
    cx.report(std::move(diagnostic));
    return;
  }
  if (found->second.is_error) return;
  for (size_t i = 0; i < call.args.size(); ++i) {
    Expr& mode = call.args[i];
    if (call.formats[i] != "mode" || mode.kind != ExprKind::Symbol) continue;
    if (mode.name == "auto") {
      if (found->second.better.empty()) {
        cx.report(diag::mode_needed(span, *monitor).help("add `mode = max` or `mode = min`"));
      } else {
        mode.name = found->second.better;
      }
    } else if (!found->second.better.empty() && found->second.better != mode.name) {
      cx.report(diag::mode_contradicts(mode.span.is_empty() ? span : mode.span, mode.name, *monitor,
                                       found->second.better == "max" ? "larger" : "smaller"));
    }
  }
}

}  // namespace

// What callbacks and schedules watch must be logged, and watched in the right direction.
void check_monitors(Context& cx,
                    Experiment& experiment,
                    const std::vector<std::string>& callbacks) {
  const std::map<std::string, Logged> series = logged_series(cx, experiment, callbacks);
  for (Expr& callback : experiment.callbacks) check_call(cx, callback, series);
  for (Member& member : cx.program.models[experiment.model].members) {
    for (auto& [name, value] : member.settings) {
      if (name == "schedule") check_call(cx, value, series);
    }
  }
}

}  // namespace ltr::check
