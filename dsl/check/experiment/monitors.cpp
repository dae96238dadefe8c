#include "dsl/check/experiment/series.h"
#include "dsl/check/experiment/wired.h"
#include "dsl/check/walk.h"
#include "dsl/diagnostics/suggest.h"

namespace ltr::check {

namespace {

void report_unknown(Context& cx, const std::string& name, Span span, const SeriesOf& series) {
  std::vector<std::string> names;
  std::string list;
  for (const auto& [known, one] : series) {
    names.push_back(known);
    list += (list.empty() ? "" : ", ") + known;
  }
  diagnostics::Diagnostic diagnostic = diag::monitor_unknown(span, name);
  diagnostic.note("logged are: {}", list.empty() ? "nothing" : list);
  if (const auto near = diagnostics::suggest(name, names)) add_near(diagnostic, name, span, *near);
  cx.report(std::move(diagnostic));
}

/// The series that is watched, if it is logged and has fresh values.
const Logged* find_series(Context& cx, const std::string& name, Span span, bool per_epoch, const SeriesOf& series) {
  const auto found = series.find(name);
  if (found == series.end()) {
    report_unknown(cx, name, span, series);
    return nullptr;
  }
  const Logged& one = found->second;
  if (one.is_error) return nullptr;
  if (!one.absent.empty()) {
    diagnostics::Diagnostic diagnostic = diag::monitor_without_value(span, name, one.absent);
    if (!one.span.is_empty()) diagnostic.label(one.span, "it would be logged here");
    cx.report(std::move(diagnostic));
    return nullptr;
  }
  if (per_epoch && one.is_on_step) {
    cx.report(diag::monitor_on_step(span, name)
                  .label(one.span, "logged here")
                  .help("add `on both`, or `on epoch`, to its `log`"));
    return nullptr;
  }
  return &one;
}

void check_mode(Context& cx, const ExprView& written, const std::string& name, Span span, const Logged& one) {
  const std::string& mode = written.get<node::Symbol>()->text;
  if (mode == "auto") {
    if (one.better.empty()) cx.report(diag::mode_needed(span, name).help("add `mode = max` or `mode = min`"));
    return;
  }
  const std::string& better = one.better.empty() ? one.named : one.better;
  if (better.empty() || better == mode) return;
  diagnostics::Diagnostic diagnostic = diag::mode_contradicts(written.span.is_empty() ? span : written.span, mode, name,
                                                              better == "max" ? "larger" : "smaller");
  diagnostic.help("`mode = {}`", better);
  if (!written.span.is_empty()) diagnostic.fix(written.span, better);
  cx.report(std::move(diagnostic));
}

void check_watching(Context& cx, const ExprView& expr, const SeriesOf& series) {
  const auto* call = expr.get<node::Call>();
  if (call == nullptr) return;
  for (const node::NamedArg& arg : call->args) check_watching(cx, cx.at(arg.value), series);
  const auto watched = watched_series(*call, cx.program);
  if (!watched) return;
  // What a default watches is asked for by the call.
  const Span place = watched->span.is_empty() ? expr.span : watched->span;
  const Logged* one = find_series(cx, watched->series, place, !library::info(call->op).watches_steps, series);
  if (one == nullptr) return;
  const auto mode = mode_argument(*call, cx.program);
  if (mode) check_mode(cx, cx.at(call->args[*mode].value), watched->series, place, *one);
}

void check_body_of_hook(Context& cx, const Body& body, const SeriesOf& series);

/// `metric(val.loss)` in the hooks of a callback.
void check_expr_of_hook(Context& cx, const ExprView& expr, const SeriesOf& series) {
  const auto* metric = expr.get<node::MetricSeries>();
  if (metric != nullptr && !series.contains(metric->series)) {
    // The place of the series within `metric(…)`.
    const std::string text = cx.source_text(expr.span);
    const size_t at = text.find(metric->series);
    Span span = expr.span;
    if (at != std::string::npos) {
      span.begin += uint32_t(at);
      span.end = span.begin + uint32_t(metric->series.size());
    }
    report_unknown(cx, metric->series, span, series);
  }
  for_each_child(expr, [&](ExprId child) { check_expr_of_hook(cx, cx.at(child), series); });
  for_each_body(expr, [&](const Body& body) { check_body_of_hook(cx, body, series); });
}

void check_body_of_hook(Context& cx, const Body& body, const SeriesOf& series) {
  for (const Stmt& stmt : body) {
    for_each_child(stmt, [&](ExprId child) { check_expr_of_hook(cx, cx.at(child), series); });
    for_each_body(stmt, [&](const Body& inner) { check_body_of_hook(cx, inner, series); });
  }
}

/// The series that a name like "{epoch:03}-{val.acc:.3}" mentions.
void check_filename(Context& cx, const node::Call& call, const SeriesOf& series) {
  for (const node::NamedArg& arg : call.args) {
    const ExprView& value = cx.at(arg.value);
    const auto* constant = value.get<node::StrConst>();
    if (arg.name != "filename" || constant == nullptr) continue;
    const std::string& pattern = constant->text;
    for (size_t open = pattern.find('{'); open != std::string::npos; open = pattern.find('{', open + 1)) {
      const size_t end = pattern.find_first_of(":}", open);
      const std::string name = pattern.substr(open + 1, end - open - 1);
      if (name == "epoch" || name == "step" || name == "global_step" || series.contains(name)) continue;
      report_unknown(cx, name, value.span, series);
    }
  }
}

/// `minimize = val.loss` of a sweep.
void check_sweep_target(Context& cx, const ast::Section& sweep, const SeriesOf& series) {
  for (const ast::Setting& setting : sweep.settings) {
    if (setting.name.text != "minimize" && setting.name.text != "maximize") continue;
    if (setting.value.get<ast::Field>() == nullptr) continue;  // No series, which was said.
    const std::string name = cx.source_text(setting.value.span);
    const Logged* one = find_series(cx, name, setting.value.span, true, series);
    if (one == nullptr) continue;
    if (is_rate(name)) {
      cx.report(
          diag::monitor_without_value(setting.value.span, name, "a rate is set by a trial, and not what comes of it"));
      continue;
    }
    const std::string mode = setting.name.text == "minimize" ? "min" : "max";
    const std::string& better = one->better.empty() ? one->named : one->better;
    if (better.empty() || better == mode) continue;
    const std::string right = mode == "min" ? "maximize" : "minimize";
    cx.report(diag::mode_contradicts(setting.name.span, mode, name, better == "max" ? "larger" : "smaller")
                  .help("`{} = {}`", right, name)
                  .fix(setting.name.span, right));
  }
}

}  // namespace

void check_monitors(Context& cx, const Experiment& experiment, const ast::Section* sweep) {
  const Object& model = cx.program.models[experiment.model];
  // What is missing may stand where the program could not be read.
  if (model.is_damaged || cx.program.datas[experiment.data].object.is_damaged) return;
  const SeriesOf series = logged_series(cx.program, experiment);
  for (const Expr& callback : experiment.callbacks) {
    check_watching(cx, callback, series);
    check_filename(cx, *callback.get<node::Call>(), series);
  }
  for (const Member& member : model.members) {
    for (const auto& [name, value] : member.settings) {
      if (value.type.kind == Kind::Schedule) check_watching(cx, value, series);
    }
    for (const GroupSettings& group : member.groups) {
      for (const auto& [name, value] : group.settings) {
        if (value.type.kind == Kind::Schedule) check_watching(cx, value, series);
      }
    }
  }
  for (const Object& callback : cx.program.callbacks) {
    if (!is_listed(callback.name, experiment)) continue;
    for (const uint32_t fn : callback.fns) check_body_of_hook(cx, cx.program.fns[fn].body, series);
  }
  if (sweep != nullptr) check_sweep_target(cx, *sweep, series);
}

}  // namespace ltr::check
