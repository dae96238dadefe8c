// What is given to optimizers, schedules, callbacks and loggers, against `runtime/tables/ranges.def`.

#include <functional>

#include "dsl/check/experiment/trials.h"
#include "dsl/check/experiment/wired.h"
#include "dsl/check/expressions/expressions.h"
#include "dsl/check/library/library_call.h"
#include "dsl/check/walk.h"
#include "dsl/diagnostics/suggest.h"
#include "runtime/tables/ranges.h"
#include "runtime/tables/run_names.h"
#include "runtime/tables/tracking_address.h"

namespace ltr::check {

namespace {

/// Under which paths the table has the range of an argument of a call: of all of its kind, or of it alone.
std::vector<std::string> paths_of(const node::Call& call, Kind made, const std::string& argument) {
  if (call.op == library::Id::None) return {};  // one of the program
  switch (made) {
    case Kind::Optimizer: return {"optimizer." + argument};
    case Kind::Schedule: return {"schedule." + argument, "schedule." + call.name + "." + argument};
    case Kind::CallbackValue: return {"callbacks." + call.name + "." + argument};
    case Kind::Logger: return {"loggers." + call.name + "." + argument};
    default: return {};
  }
}

/// The rule that a number breaks, and where it stands.
struct Broken {
  std::string rule;
  Span span;
};

/// The rule that a number breaks, or one of a tuple or list of them.
std::optional<Broken> broken_by(const ExprView& value, const std::vector<std::string>& paths, const Program& program) {
  const auto broken = [&](double number, bool is_counted) -> std::optional<Broken> {
    for (const std::string& path : paths) {
      if (auto rule = broken_rule(path, number, is_counted)) return Broken{std::move(*rule), value.span};
    }
    return std::nullopt;
  };
  if (const auto* quantity = value.get<node::Quantity>()) return broken(quantity->value, true);
  if (value.is<node::Tuple>() || value.is<node::List>()) {
    std::optional<Broken> rule;
    size_t at = 0;
    for_each_child(value, [&](ExprId part) {
      std::vector<std::string> own = paths;
      for (const std::string& path : paths) own.push_back(path + "[" + std::to_string(at) + "]");
      ++at;
      if (!rule) rule = broken_by(program.exprs[part], own, program);
    });
    return rule;
  }
  const auto number = value.type.is_host_number() ? evaluate(value, program) : std::nullopt;
  return number ? broken(number->real, false) : std::nullopt;
}

/// The calls and settings of one object, or of an experiment, with what the experiment gives it.
struct Ranges {
  Context& cx;
  const std::function<Wired(const ExprView&)> wired;
  const Drawn* drawn = nullptr;  ///< what a trial is given: nothing else is told

  void check(const ExprView& expr) {
    const auto* call = expr.get<node::Call>();
    for (const node::NamedArg& arg : call != nullptr ? call->args : std::vector<node::NamedArg>()) {
      // What is said of learning rates is E0418.
      if (expr.type.kind == Kind::Optimizer && arg.name == "lr") continue;
      const auto advice =
          expr.type.kind == Kind::CallbackValue ? diagnostics::advice_of_argument(call->name, arg.name) : std::nullopt;
      check_value(arg.name, cx.at(arg.value), paths_of(*call, expr.type.kind, arg.name), advice);
      check_text(*call, arg.name, cx.at(arg.value));
      if (call->op == library::Id::Ema && arg.name == "decay") check_average(cx.at(arg.value));
    }
    for_each_child(expr, [&](ExprId child) { check(cx.at(child)); });
  }

  void check_settings(const std::vector<std::pair<std::string, Expr>>& settings) {
    for (const auto& [name, value] : settings) {
      check_value(name, value, {"optimizer." + name});
      check(value);
    }
  }

  /// W0427 of the callback `Ema`.
  void check_average(const ExprView& written) {
    if (written.span.is_empty() || drawn != nullptr) return;  // a default of the library
    const Wired value = wired(written);
    const Span place = value.given.is_empty() ? written.span : value.given;
    if (const auto decay = evaluate(value.expr, cx.program))
      check_kept(decay->real, place, "the average", "the weights", cx);
  }

  /// What names files of the run, or a server.
  void check_text(const node::Call& call, const std::string& name, const ExprView& written) {
    const auto* text = written.get<node::StrConst>();
    if (drawn != nullptr || text == nullptr || written.span.is_empty()) return;
    std::optional<std::string> wrong;
    if (call.op == library::Id::Checkpoint && name == "filename") wrong = wrong_checkpoint_name(text->text);
    if (call.op == library::Id::CsvLogger && name == "file" && !table_of_run(text->text))
      wrong = "`file` is a .csv file of the run folder, such as \"tables/losses.csv\"";
    if (call.op == library::Id::MlflowLogger && name == "uri") {
      if (const auto fault = wrong_tracking_address(text->text)) wrong = "`uri` " + *fault;
    }
    if (wrong && !is_reported(cx, diagnostics::Code::E0309, written.span))
      cx.report(diag::wrong_argument(written.span, *wrong));
  }

  /// `advice`: what may have been meant.
  void check_value(const std::string& name, const ExprView& written, const std::vector<std::string>& paths,
                   std::optional<std::string_view> advice = std::nullopt) {
    if (written.span.is_empty()) return;  // a default of the library
    // A list of pairs may have names beside its numbers.
    const bool may_have_numbers =
        is_made_of(written.type, {Kind::Int, Kind::Float, Kind::Period, Kind::Duration, Kind::Bytes, Kind::Option,
                                  Kind::Tuple, Kind::List, Kind::Str});
    if (!may_have_numbers) return;
    const Wired value = wired(written);
    const auto rule = broken_by(value.expr, paths, cx.program);
    // One of several numbers stands for itself.
    const bool is_part = rule && rule->span.source == written.span.source && rule->span != written.span &&
                         source::join(rule->span, written.span) == written.span;
    const Span place = is_part ? rule->span : value.given.is_empty() ? written.span : value.given;
    if (!rule || is_reported(cx, diagnostics::Code::E0325, place) || is_reported(cx, diagnostics::Code::E0319, place))
      return;
    if (drawn != nullptr && place != drawn->value.span) return;
    const std::string told = drawn != nullptr ? drawn->text : cx.source_text(place);
    diagnostics::Diagnostic diagnostic =
        diag::out_of_range(place, "`" + name + "` cannot be " + told).note("`{}`", rule->rule);
    if (drawn != nullptr) diagnostic.note("a trial of the sweep may have it");
    if (place != written.span) diagnostic.label(written.span, "it is this `{}`", name);
    note_hparams(diagnostic, value, cx);
    if (advice) diagnostic.help("{}", std::string(*advice));
    cx.report(std::move(diagnostic));
  }
};

void check_optimizers(Ranges& ranges, const Object& model) {
  for (const Member& member : model.members) {
    if (member.kind != MemberKind::Optimizer || member.value.type.is_error()) continue;
    ranges.check(member.value);
    ranges.check_settings(member.settings);
    for (const GroupSettings& group : member.groups) ranges.check_settings(group.settings);
  }
}

}  // namespace

void check_argument_ranges(Context& cx) {
  Ranges written{cx, [](const ExprView& expr) { return Wired{expr, expr.span, {}}; }};
  for (const Object& model : cx.program.models) check_optimizers(written, model);
  for (const Experiment& experiment : cx.program.experiments) check_given_ranges(cx, experiment);
}

void check_given_ranges(Context& cx, const Experiment& experiment, const Drawn* drawn) {
  const Object none;
  Ranges listed{cx, [&](const ExprView& expr) { return wire(expr, none, {}, experiment, cx.program); }, drawn};
  for (const Expr& callback : experiment.callbacks) listed.check(callback);
  for (const Expr& logger : experiment.loggers) listed.check(logger);
  if (experiment.model >= cx.program.models.size()) return;
  const Object& model = cx.program.models[experiment.model];
  Ranges given{
      cx, [&](const ExprView& expr) { return wire(expr, model, experiment.model_arguments, experiment, cx.program); },
      drawn};
  check_optimizers(given, model);
}

}  // namespace ltr::check
