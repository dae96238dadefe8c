#include "dsl/check/experiment/wired.h"

#include <algorithm>

namespace ltr::check {

namespace {

struct Wirer {
  const Object& object;
  const std::vector<Expr>& arguments;
  const Experiment& experiment;
  const Program& program;
  Wired result;

  Expr hparam(const std::string& name, const Expr& use) {
    for (const Hparam& candidate : program.hparams) {
      if (candidate.name != name) continue;
      const auto set = std::find_if(experiment.sets.begin(), experiment.sets.end(),
                                    [&](const auto& one) { return one.first == name; });
      const Expr& value = set != experiment.sets.end() ? set->second : candidate.initial;
      result.given = value.span;
      if (set == experiment.sets.end()) result.hparams.push_back(name);
      return of(value);
    }
    return use;
  }

  /// A param or `let` of the object itself.
  std::optional<Expr> own(const std::string& name, bool is_param) {
    for (size_t i = 0; i < object.params.size() && i < arguments.size(); ++i) {
      if (object.params[i].name != name || !is_param) continue;
      result.given = arguments[i].span;
      return of(arguments[i]);
    }
    for (const Member& member : object.members) {
      if (member.name == name && member.kind == MemberKind::Let && !is_param)
        return of(member.value);
    }
    return std::nullopt;
  }

  Expr of(const Expr& expr) {
    if (expr.kind == ExprKind::Hparam) return hparam(expr.name, expr);
    const bool is_own =
        expr.kind == ExprKind::Member && !expr.args.empty() && expr.args[0].kind == ExprKind::Self;
    if (is_own) {
      if (auto known = own(expr.name, expr.whole == 1)) return *known;
    }
    if (expr.kind == ExprKind::Local && expr.local < object.params.size()) {
      if (auto known = own(object.params[expr.local].name, true)) return *known;
    }
    Expr copy = expr;
    for (Expr& arg : copy.args) arg = of(arg);
    return copy;
  }
};

}  // namespace

Wired wire(const Expr& expr,
           const Object& object,
           const std::vector<Expr>& arguments,
           const Experiment& experiment,
           const Program& program) {
  Wirer wirer{object, arguments, experiment, program, {}};
  wirer.result.given = expr.span;
  wirer.result.expr = wirer.of(expr);
  return std::move(wirer.result);
}

bool is_reported(const Context& cx, diagnostics::Code code, Span span) {
  const auto& reported = cx.sink->reported();
  return std::any_of(reported.begin(), reported.end(),
                     [&](const auto& one) { return one.code == code && one.span == span; });
}

const SettingValue* find_setting(const std::vector<SettingValue>& settings,
                                 const std::string& name) {
  for (const SettingValue& setting : settings) {
    if (setting.path == name) return &setting;
  }
  return nullptr;
}

void note_hparams(diagnostics::Diagnostic& diagnostic, const Wired& wired, const Context& cx) {
  for (const std::string& name : wired.hparams) {
    for (const Hparam& hparam : cx.program.hparams) {
      if (hparam.name == name)
        diagnostic.note("`{}` is {} unless it is set", name, cx.source_text(hparam.initial.span));
    }
  }
}

}  // namespace ltr::check
