#include <algorithm>

#include "dsl/check/context.h"
#include "dsl/check/settings.h"

namespace ltr::check {

namespace {

/// What `scheduler` may be told, and all of them.
std::vector<SettingInfo> fields_of(const std::string& scheduler) {
  struct FieldRow {
    const char* scheduler;
    SettingInfo field;
  };
  static constexpr FieldRow kRows[] = {
#define LTR_SCHEDULER_FIELD(scheduler, name, type) {#scheduler, {#name, type}},
#include "dsl/check/scheduler_fields.def"
  };
  std::vector<SettingInfo> fields;
  for (const FieldRow& row : kRows) {
    if (row.scheduler == scheduler || row.scheduler == std::string("any")) fields.push_back(row.field);
  }
  return fields;
}

}  // namespace

std::optional<Expr> check_scheduler(const ast::Expr& value, const std::vector<std::string>& known, Scope& scope) {
  Context& cx = scope.cx;
  const auto* call = value.get<ast::Call>();
  const auto* name = call != nullptr ? call->callee->get<ast::NameRef>() : nullptr;
  if (name == nullptr) {
    cx.report(diag::wrong_type(value.span, "a scheduler is wanted here, such as `slurm(partition = \"gpu\")`"));
    return std::nullopt;
  }
  const std::string& scheduler = name->name.text;
  if (std::find(known.begin(), known.end(), scheduler) == known.end()) {
    diagnostics::Diagnostic diagnostic = diag::unknown_scheduler(name->name.span, scheduler);
    note_known(diagnostic, known);
    did_you_mean(diagnostic, scheduler, name->name.span, known);
    cx.report(std::move(diagnostic));
    return std::nullopt;
  }
  const std::vector<SettingInfo> fields = fields_of(scheduler);
  std::vector<ast::Setting> given;
  for (const ast::Argument& argument : call->arguments) {
    if (!argument.name) {
      cx.report(diag::wrong_argument(argument.value->span, "what a scheduler is told has a name").help("`{}({} = …)`", scheduler, fields.back().name));
      continue;
    }
    given.push_back({*argument.name, *argument.value});
    check_setting(given.back(), fields, "`" + scheduler + "`", scope);
  }
  check_twice(cx, given);
  return make_expr(ExprKind::Symbol, Type::of(Kind::OneOf), value.span, {}, scheduler);
}

}  // namespace ltr::check
