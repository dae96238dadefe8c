#include "dsl/check/experiment/repeated_steps.h"

#include <algorithm>

#include "dsl/check/experiment/wired.h"
#include "dsl/check/expressions/expressions.h"
#include "dsl/check/walk.h"

namespace ltr::check {

namespace {

/// Each `minimize` in a body, and whether every run of it comes there.
struct Found {
  const stmt::Minimize* minimize;
  Span span;
  bool is_reached;
};

void find_updates(const Body& body, bool is_reached, bool& may_have_left, std::vector<Found>& found) {
  for (const Stmt& stmt : body) {
    if (const auto* minimize = stmt.get<stmt::Minimize>())
      found.push_back({minimize, stmt.span, is_reached && !may_have_left});
    may_have_left = may_have_left || stmt.get<stmt::Return>() != nullptr;
    for_each_body(stmt, [&](const Body& inner) { find_updates(inner, false, may_have_left, found); });
  }
}

const library::Function& rule_of(const Expr& value) {
  const auto* call = value.get<node::Call>();
  return library::info(call != nullptr ? call->op : library::Id::None);
}

diagnostics::Diagnostic refused(Span span, const library::Function& rule, const std::string& what) {
  return diag::repeated_step(span, std::string(rule.name), what);
}

void check_member(Context& cx, const Member& member) {
  const library::Function& rule = rule_of(member.value);
  for (const GroupSettings& group : member.groups) {
    if (rule.repeats_step) {
      cx.report(refused(group.span, rule, "moves all weights as one, without groups")
                    .help("take the group away, or another optimizer: `AdamW`"));
    } else if (group.rule && rule_of(*group.rule).repeats_step) {
      cx.report(refused(group.rule->span, rule_of(*group.rule), "moves all weights as one, and is no rule of a group")
                    .help("give the group another rule, or all weights this one"));
    }
  }
  for (const auto& [name, value] : member.settings) {
    if (!rule.repeats_step || (name != "clip_norm" && name != "clip_value")) continue;
    cx.report(refused(value.span, rule, "goes by whole gradients, which nothing clips")
                  .help("take `{}` away; `line_search = strong_wolfe` keeps steps short enough", name));
  }
}

void check_repeated_step(Context& cx, const Fn& step, const Member& member) {
  const library::Function& rule = rule_of(member.value);
  if (step.is_manual) {
    cx.report(refused(member.value.span, rule, "repeats the step up to its `minimize`, and a manual step has none")
                  .label(step.span, "`manual` here")
                  .help("take `manual` away, and `minimize` the loss"));
    return;
  }
  std::vector<Found> updates;
  bool may_have_left = false;
  find_updates(step.body, true, may_have_left, updates);
  const bool is_ours = std::ranges::any_of(
      updates, [&](const Found& one) { return repeats_step(cx.at(one.minimize->optimizer), cx.program); });
  if (!is_ours) return;
  if (updates.size() > 1) {
    cx.report(refused(updates[1].span, rule, "repeats the step up to its `minimize`, so there is one")
                  .label(updates[0].span, "another one")
                  .label(member.value.span, "`{}` is {}", member.name, std::string(rule.name))
                  .help("minimize the sum of the losses, or take another optimizer: `AdamW`"));
  } else if (!updates[0].is_reached) {
    cx.report(refused(updates[0].span, rule, "repeats the step up to its `minimize`, so every batch comes to it")
                  .label(member.value.span, "`{}` is {}", member.name, std::string(rule.name))
                  .help("let it stand by itself: outside of any branch, loop or scope, with no `return` above it"));
  }
}

/// The member of a model that repeats its steps; null if none does.
const Member* find_repeating(const Object& model) {
  for (const Member& member : model.members) {
    if (member.kind == MemberKind::Optimizer && rule_of(member.value).repeats_step) return &member;
  }
  return nullptr;
}

}  // namespace

bool repeats_step(const ExprView& optimizer, const Program& program) {
  const auto* member = optimizer.get<node::Member>();
  if (member == nullptr) return false;
  const Type& type = program.exprs[member->object].type;
  if (type.kind != Kind::Model || type.decl >= program.models.size()) return false;
  return std::ranges::any_of(program.models[type.decl].members, [&](const Member& one) {
    return one.name == member->name && one.kind == MemberKind::Optimizer && rule_of(one.value).repeats_step;
  });
}

void check_repeated_steps(Context& cx) {
  for (const Object& model : cx.program.models) {
    for (const Member& member : model.members) {
      if (member.kind == MemberKind::Optimizer) check_member(cx, member);
    }
    const Member* repeating = find_repeating(model);
    for (const uint32_t fn : model.fns) {
      const Fn& step = cx.program.fns[fn];
      if (repeating != nullptr && step.role == FnRole::Step) check_repeated_step(cx, step, *repeating);
    }
  }
}

bool report_repeated_test(const ExprView& optimizer, Span minimize, Context& cx) {
  if (!repeats_step(optimizer, cx.program)) return false;
  cx.report(diag::repeated_step(minimize, "LBFGS", "repeats a step, and a test is none")
                .help("`overfit(MODEL, DATA, STEPS)` runs steps in a test"));
  return true;
}

void check_repeating_run(Context& cx, const Experiment& experiment, const SettingValue* window) {
  const Member* repeating = find_repeating(cx.program.models[experiment.model]);
  if (repeating == nullptr) return;
  const library::Function& rule = rule_of(repeating->value);
  const auto refuse = [&](Span span, const std::string& what, const std::string& help) {
    cx.report(refused(span, rule, what)
                  .label(repeating->value.span, "`{}` is {}", repeating->name, std::string(rule.name))
                  .help("{}", help));
  };
  if (window != nullptr)
    refuse(window->span, "repeats the step of one batch, without `" + window->path + "`",
           "larger batches: `collate(SIZE)`");
  const auto topology = std::ranges::find(cx.program.topologies, experiment.topology, &Topology::name);
  if (topology == cx.program.topologies.end()) return;
  const SettingValue* precision = find_setting(topology->settings, "precision");
  if (precision != nullptr && text_of(precision->value) == "f16")
    refuse(precision->value.span, "finds no step lengths in losses that are scaled for `f16`",
           "`precision = bf16`, or without one");
  const SettingValue* strategy = find_setting(topology->settings, "strategy");
  const std::string divides = strategy != nullptr ? text_of(strategy->value) : "";
  if (divides == "zero1" || divides == "zero2" || divides == "fsdp" || divides == "hsdp")
    refuse(strategy->value.span, "needs all weights on each rank", "`strategy = ddp`");
}

}  // namespace ltr::check
