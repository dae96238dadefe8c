#include "dsl/check/experiment/wired.h"

#include <algorithm>

#include "dsl/check/expressions/expressions.h"
#include "dsl/check/walk.h"

namespace ltr::check {

namespace {

enum class NameKind { Hparam, Param, Let };

struct Wirer {
  const Object& object;
  const ExprIds& arguments;
  const Experiment& experiment;
  Program& program;
  Wired result;
  /// What names stand for and where that is given, by the name with its kind: read once, or what rests on another twice would
  /// double with each level.
  std::map<std::pair<std::string, NameKind>, std::pair<ExprId, Span>> known = {};

  /// A number is the number, however it was computed.
  Expr folded(Expr expr) const {
    const Kind kind = expr.type.kind;
    if (kind != Kind::Int && kind != Kind::Float && kind != Kind::Bool) return expr;
    const auto value = evaluate(expr, program);
    if (!value) {
      expr.node = node::Error{};
    } else if (kind == Kind::Float) {
      expr.node = node::FloatConst{value->real};
    } else if (kind == Kind::Bool) {
      expr.node = node::BoolConst{value->whole != 0};
    } else {
      expr.node = node::IntConst{value->whole};
    }
    return expr;
  }

  /// `value`, which is that of a name.
  Expr named(const std::string& name, NameKind kind, const ExprView& value) {
    const auto before = known.find({name, kind});
    if (before != known.end()) {
      result.given = before->second.second;
      return program.exprs[before->second.first];
    }
    result.given = kind != NameKind::Let ? value.span : result.given;
    Expr wired = folded(of(value));
    known.emplace(std::pair(name, kind), std::pair(program.exprs.add(Expr(wired)), result.given));
    return wired;
  }

  std::optional<Expr> hparam(const std::string& name) {
    const Hparam* hparam = program.find_hparam(name);
    if (hparam == nullptr) return std::nullopt;
    const auto set = std::find_if(experiment.sets.begin(), experiment.sets.end(),
                                  [&](const auto& one) { return one.first == name; });
    const bool is_set = set != experiment.sets.end();
    if (!is_set && !known.contains({name, NameKind::Hparam})) result.hparams.push_back(name);
    return named(name, NameKind::Hparam, is_set ? ExprView(set->second) : program.exprs[hparam->initial]);
  }

  /// A param or `let` of the object itself.
  std::optional<Expr> own(const std::string& name, bool is_param) {
    for (size_t i = 0; i < object.params.size() && i < arguments.size(); ++i) {
      if (object.params[i].name == name && is_param) return named(name, NameKind::Param, program.exprs[arguments[i]]);
    }
    for (const Member& member : object.members) {
      if (member.name == name && member.kind == MemberKind::Let && !is_param)
        return named(name, NameKind::Let, member.value);
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

std::set<size_t> rules_about(const std::vector<std::string>& hparams, const Program& program) {
  std::set<size_t> rules, seen;
  std::vector<size_t> left;
  for (const std::string& name : hparams) {
    const auto found = program.hparam_at.find(name);
    if (found != program.hparam_at.end() && seen.insert(found->second).second) left.push_back(found->second);
  }
  while (!left.empty()) {
    const Hparam& hparam = program.hparams[left.back()];
    left.pop_back();
    rules.insert(hparam.read_by_rules.begin(), hparam.read_by_rules.end());
    for (const size_t other : hparam.read_by_defaults) {
      if (seen.insert(other).second) left.push_back(other);
    }
  }
  return rules;
}

bool is_endless(const Context& cx) {
  return std::ranges::any_of(cx.sink->reported(), [](const auto& one) { return one.code == diagnostics::Code::E0513; });
}

bool is_asked_of(const Obligation& obligation, const Experiment& experiment) {
  return (!obligation.of_data || *obligation.of_data == experiment.data) &&
         (obligation.of_experiment.empty() || obligation.of_experiment == experiment.name);
}

bool is_asked_at_start(const Obligation& obligation, const Experiment& experiment) {
  return obligation.condition && !obligation.needs_data && obligation.fate == Fate::AtStart &&
         is_asked_of(obligation, experiment);
}

const SettingValue* find_setting(const std::vector<SettingValue>& settings, const std::string& name) {
  for (const SettingValue& setting : settings) {
    if (setting.path == name) return &setting;
  }
  return nullptr;
}

void note_hparams(diagnostics::Diagnostic& diagnostic, const Wired& wired, const Context& cx) {
  for (const std::string& name : wired.hparams) {
    if (const Hparam* hparam = cx.program.find_hparam(name))
      diagnostic.note("`{}` is {} unless it is set", name, cx.source_text(cx.at(hparam->initial).span));
  }
}

}  // namespace ltr::check
