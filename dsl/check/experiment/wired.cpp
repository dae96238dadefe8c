#include "dsl/check/experiment/wired.h"

#include <algorithm>

#include "dsl/check/walk.h"

namespace ltr::check {

namespace {

struct Wirer {
  const Object& object;
  const ExprIds& arguments;
  const Experiment& experiment;
  Program& program;
  Wired result;

  std::optional<Expr> hparam(const std::string& name) {
    for (const Hparam& candidate : program.hparams) {
      if (candidate.name != name) continue;
      const auto set = std::find_if(experiment.sets.begin(), experiment.sets.end(),
                                    [&](const auto& one) { return one.first == name; });
      const ExprView value = set != experiment.sets.end() ? ExprView(set->second) : program.exprs[candidate.initial];
      result.given = value.span;
      if (set == experiment.sets.end()) result.hparams.push_back(name);
      return of(value);
    }
    return std::nullopt;
  }

  /// A param or `let` of the object itself.
  std::optional<Expr> own(const std::string& name, bool is_param) {
    for (size_t i = 0; i < object.params.size() && i < arguments.size(); ++i) {
      if (object.params[i].name != name || !is_param) continue;
      result.given = program.exprs[arguments[i]].span;
      return of(program.exprs[arguments[i]]);
    }
    for (const Member& member : object.members) {
      if (member.name == name && member.kind == MemberKind::Let && !is_param) return of(member.value);
    }
    return std::nullopt;
  }

  /// What `expr` stands for; nothing if it stands for itself.
  std::optional<Expr> meant(const ExprView& expr) {
    if (const auto* use = expr.get<node::Hparam>()) return hparam(use->name);
    const auto* member = expr.get<node::Member>();
    if (member != nullptr && program.exprs[member->object].is<node::Self>()) {
      if (auto known = own(member->name, member->is_param)) return known;
    }
    const auto* local = expr.get<node::Local>();
    if (local != nullptr && local->local < object.params.size()) {
      if (auto known = own(object.params[local->local].name, true)) return known;
    }
    bool is_changed = false;
    Expr changed = with_children(expr, [&](ExprId child) {
      auto other = meant(program.exprs[child]);
      if (!other) return child;
      is_changed = true;
      return program.exprs.add(std::move(*other));
    });
    return is_changed ? std::optional(std::move(changed)) : std::nullopt;
  }

  Expr of(const ExprView& expr) {
    auto other = meant(expr);
    return other ? std::move(*other) : Expr(expr);
  }
};

}  // namespace

Wired wire(const ExprView& expr, const Object& object, const ExprIds& arguments, const Experiment& experiment,
           Program& program) {
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

const SettingValue* find_setting(const std::vector<SettingValue>& settings, const std::string& name) {
  for (const SettingValue& setting : settings) {
    if (setting.path == name) return &setting;
  }
  return nullptr;
}

void note_hparams(diagnostics::Diagnostic& diagnostic, const Wired& wired, const Context& cx) {
  for (const std::string& name : wired.hparams) {
    for (const Hparam& hparam : cx.program.hparams) {
      if (hparam.name == name)
        diagnostic.note("`{}` is {} unless it is set", name, cx.source_text(cx.at(hparam.initial).span));
    }
  }
}

}  // namespace ltr::check
