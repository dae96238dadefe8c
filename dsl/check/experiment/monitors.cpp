#include "dsl/check/declarations/hook.h"
#include "dsl/check/experiment/series.h"
#include "dsl/check/experiment/wired.h"
#include "dsl/check/walk.h"
#include "dsl/diagnostics/suggest.h"
#include "runtime/tables/roles.h"
#include "runtime/tables/sweep_words.h"

namespace ltr::check {

namespace {

/// What an experiment records, and whether a callback that could not be read may record more.
struct Recorded {
  SeriesOf series;
  bool is_open = false;
  std::set<std::string> open_roles = {};   ///< with a log whose name another one has
  std::set<std::string> told_absent = {};  ///< why series have no value, which holds for all of a role
  std::map<std::string, diagnostics::Diagnostic> lacking =
      {};  ///< by role: series that a step would log that is not there
  const Object* model = nullptr;
  const DataObject* data = nullptr;
};

/// Whether `role` has a stream, and the model no step for it.
bool lacks_step(const std::string& role, const Recorded& recorded, const Program& program) {
  const bool has_stream =
      is_evaluating_role(role) &&
      std::ranges::any_of(recorded.data->streams, [&](const StreamDecl& one) { return one.role == role; });
  return has_stream && std::ranges::none_of(recorded.model->fns, [&](FnId id) {
           return program.fns[id].role == FnRole::Step && program.fns[id].name == role;
         });
}

void report_unknown(Context& cx, const std::string& name, Span span, Recorded& recorded) {
  const std::string role = name.substr(0, name.find('.'));
  if (recorded.is_open || recorded.open_roles.contains(role)) return;
  if (const auto first = recorded.lacking.find(role); first != recorded.lacking.end()) {
    first->second.label(span, "nor `{}`", name);
    return;
  }
  if (lacks_step(role, recorded, cx.program)) {
    const std::string& model = recorded.model->name;
    recorded.lacking.emplace(role, diag::monitor_unknown(span, name)
                                       .label(recorded.model->span, "`{}` has no `step {}`", model, role)
                                       .help("give the model a `step {}` that logs it", role));
    return;
  }
  std::vector<std::string> names;
  std::string list;
  for (const auto& [known, one] : recorded.series) {
    names.push_back(known);
    list += (list.empty() ? "" : ", ") + known;
  }
  diagnostics::Diagnostic diagnostic = diag::monitor_unknown(span, name);
  diagnostic.note("logged are: {}", list.empty() ? "nothing" : list);
  // Lightning says behind a name when it is recorded.
  const std::string bare = name.substr(0, name.rfind('_'));
  const bool says_when = (name.ends_with("_epoch") || name.ends_with("_step")) && recorded.series.contains(bare);
  if (says_when)
    diagnostic.help("a series has one name: `{}`", bare).fix(span, bare);
  else if (const auto near = diagnostics::suggest(name, names))
    add_near(diagnostic, name, span, *near);
  cx.report(std::move(diagnostic));
}

/// E0430 if `name` has several values and no index, an index where there is one value, or one that is too large.
bool check_class(Context& cx, const std::string& name, Span span, const Logged& one) {
  const auto [base, index] = without_index(name);
  if (one.is_error || (index.has_value() == one.is_each && (!index || !one.length || *index < *one.length)))
    return true;
  const std::string all =
      one.length ? ", `" + base + "[0]` to `" + base + "[" + std::to_string(*one.length - 1) + "]`" : "";
  diagnostics::Diagnostic diagnostic = diag::monitor_without_value(
      span, name, one.is_each ? "there is one for each class" + all : "`" + base + "` is one value");
  if (!one.span.is_empty()) diagnostic.label(one.span, "logged here");
  if (one.is_each && !index)
    diagnostic.help("`{}[0]` is that of class 0; with `average = macro` there is one value", base);
  cx.report(std::move(diagnostic));
  return false;
}

/// The series that is watched, if it is logged and has fresh values.
const Logged* find_series(Context& cx, const std::string& name, Span span, bool per_epoch, Recorded& recorded) {
  const Logged* found = find_logged(recorded.series, name);
  if (found == nullptr) {
    report_unknown(cx, name, span, recorded);
    return nullptr;
  }
  const Logged& one = *found;
  if (one.is_error || !check_class(cx, name, span, one)) return nullptr;
  if (!one.absent.empty()) {
    if (!recorded.told_absent.insert(one.absent).second) return nullptr;
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

void check_watching(Context& cx, const ExprView& expr, Recorded& recorded) {
  const auto* call = expr.get<node::Call>();
  if (call == nullptr) return;
  for (const node::NamedArg& arg : call->args) check_watching(cx, cx.at(arg.value), recorded);
  const auto watched = watched_series(*call, cx.program);
  if (!watched) return;
  // What a default watches is asked for by the call.
  const Span place = watched->span.is_empty() ? expr.span : watched->span;
  const Logged* one = find_series(cx, watched->series, place, !library::info(call->op).watches_steps, recorded);
  if (one == nullptr) return;
  const auto mode = mode_argument(*call, cx.program);
  if (mode) check_mode(cx, cx.at(call->args[*mode].value), watched->series, place, *one);
}

void check_body_of_hook(Context& cx, const Body& body, Recorded& recorded, bool is_of_fit);

/// `metric(val.loss)` in the hooks of a callback.
/// `is_of_fit`: it runs in a fit alone, where `step test` never has run.
void check_expr_of_hook(Context& cx, const ExprView& expr, Recorded& recorded, bool is_of_fit) {
  if (const auto* metric = expr.get<node::MetricSeries>()) {
    // The place of the series within `metric(…)`.
    const std::string text = cx.source_text(expr.span);
    const size_t at = text.find(metric->series);
    Span span = expr.span;
    if (at != std::string::npos) {
      span.begin += uint32_t(at);
      span.end = span.begin + uint32_t(metric->series.size());
    }
    const Logged* logged = find_logged(recorded.series, metric->series);
    const bool is_of_test = metric->series.starts_with(std::string(kTestRole) + ".");
    if (logged == nullptr)
      report_unknown(cx, metric->series, span, recorded);
    else if (check_class(cx, metric->series, span, *logged) && is_of_fit && is_of_test && !logged->absent.empty() &&
             !is_reported(cx, diagnostics::Code::E0430, span))  // Another experiment lists the callback, too.
      cx.report(diag::monitor_without_value(span, metric->series, logged->absent).label(logged->span, "logged here"));
  }
  for_each_child(expr, [&](ExprId child) { check_expr_of_hook(cx, cx.at(child), recorded, is_of_fit); });
  for_each_body(expr, [&](const Body& body) { check_body_of_hook(cx, body, recorded, is_of_fit); });
}

void check_body_of_hook(Context& cx, const Body& body, Recorded& recorded, bool is_of_fit) {
  for (const Stmt& stmt : body) {
    for_each_child(stmt, [&](ExprId child) { check_expr_of_hook(cx, cx.at(child), recorded, is_of_fit); });
    for_each_body(stmt, [&](const Body& inner) { check_body_of_hook(cx, inner, recorded, is_of_fit); });
  }
}

/// The series that a name like "{epoch:03}-{val.acc:.3}" mentions.
void check_filename(Context& cx, const node::Call& call, Recorded& recorded) {
  for (const node::NamedArg& arg : call.args) {
    const ExprView& value = cx.at(arg.value);
    const auto* constant = value.get<node::StrConst>();
    if (arg.name != "filename" || constant == nullptr) continue;
    const std::string& pattern = constant->text;
    for (size_t open = pattern.find('{'); open != std::string::npos; open = pattern.find('{', open + 1)) {
      const size_t end = pattern.find_first_of(":}", open);
      const std::string name = pattern.substr(open + 1, end - open - 1);
      if (name == "epoch" || name == "step" || name == "global_step") continue;
      if (const Logged* logged = find_logged(recorded.series, name))
        check_class(cx, name, value.span, *logged);
      else
        report_unknown(cx, name, value.span, recorded);
    }
  }
}

/// `minimize = val.loss` of a sweep.
void check_sweep_target(Context& cx, const ast::Section& sweep, Recorded& recorded) {
  for (const ast::Setting& setting : sweep.settings) {
    const auto word = find_sweep_word(setting.name.text);
    if (!is_target(word)) continue;
    const bool is_series = setting.value.get<ast::Field>() != nullptr || setting.value.get<ast::Index>() != nullptr;
    if (!is_series) continue;  // Which was said.
    std::string name = cx.source_text(setting.value.span);
    std::erase(name, ' ');
    const Logged* one = find_series(cx, name, setting.value.span, true, recorded);
    if (one == nullptr) continue;
    if (is_rate(name)) {
      cx.report(
          diag::monitor_without_value(setting.value.span, name, "a rate is set by a trial, and not what comes of it"));
      continue;
    }
    const std::string mode = word == SweepWord::Minimize ? "min" : "max";
    const std::string& better = one->better.empty() ? one->named : one->better;
    if (better.empty() || better == mode) continue;
    const std::string right(name_of(word == SweepWord::Minimize ? SweepWord::Maximize : SweepWord::Minimize));
    cx.report(diag::mode_contradicts(setting.name.span, mode, name, better == "max" ? "larger" : "smaller")
                  .help("`{} = {}`", right, name)
                  .fix(setting.name.span, right));
  }
}

}  // namespace

void check_monitors(Context& cx, const Experiment& experiment, const ast::Section* sweep, bool lacks_callback) {
  const Object& model = cx.program.models[experiment.model];
  // What is missing may stand where the program could not be read.
  if (model.is_damaged || cx.program.datas[experiment.data].object.is_damaged) return;
  Recorded recorded{.series = logged_series(cx.program, experiment),
                    .is_open = lacks_callback,
                    .model = &model,
                    .data = &cx.program.datas[experiment.data]};
  for (const LogEntry& log : cx.program.logs) {
    if (log.owner == model.name && is_reported(cx, diagnostics::Code::E0411, log.span))
      recorded.open_roles.insert(log.role);
  }
  for (const Object& callback : cx.program.callbacks)
    recorded.is_open = recorded.is_open || (callback.is_damaged && is_listed(callback.name, experiment));
  for (const Expr& callback : experiment.callbacks) {
    check_watching(cx, callback, recorded);
    check_filename(cx, *callback.get<node::Call>(), recorded);
  }
  for (const Member& member : model.members) {
    for (const auto& [name, value] : member.settings) {
      if (value.type.kind == Kind::Schedule) check_watching(cx, value, recorded);
    }
    for (const GroupSettings& group : member.groups) {
      for (const auto& [name, value] : group.settings) {
        if (value.type.kind == Kind::Schedule) check_watching(cx, value, recorded);
      }
    }
  }
  for (const Object& callback : cx.program.callbacks) {
    if (!is_listed(callback.name, experiment)) continue;
    for (const uint32_t fn : callback.fns) {
      const Fn& code = cx.program.fns[fn];
      const Hook* hook = code.role == FnRole::Hook ? find_hook(code.name) : nullptr;
      const bool is_of_fit = hook != nullptr && (hook->role == kTrainRole || hook->role == kValRole);
      check_body_of_hook(cx, code.body, recorded, is_of_fit);
    }
  }
  if (sweep != nullptr) check_sweep_target(cx, *sweep, recorded);
  for (auto& [role, diagnostic] : recorded.lacking) cx.report(std::move(diagnostic));
}

}  // namespace ltr::check
