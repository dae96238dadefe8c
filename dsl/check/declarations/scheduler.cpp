#include <algorithm>

#include "dsl/check/experiment/settings.h"
#include "dsl/check/expressions/expressions.h"
#include "runtime/tables/schedulers.h"

namespace ltr::check {

std::vector<SchedulerField> scheduler_fields(const std::string& scheduler) {
  static constexpr std::pair<const char*, SchedulerField> kRows[] = {
#define LTR_SCHEDULER_FIELD(scheduler, name, type, doc) {#scheduler, {{#name, type}, doc}},
#include "dsl/check/declarations/scheduler_fields.def"
  };
  std::vector<SchedulerField> fields;
  for (const auto& [of, field] : kRows) {
    if (of == scheduler || of == std::string("any")) fields.push_back(field);
  }
  return fields;
}

std::vector<SettingValue> check_scheduler(const ast::Setting& setting, Scope& scope) {
  Context& cx = scope.cx;
  const ast::Expr& value = setting.value;
  if (value.is_error()) return {};
  const std::vector<std::string> known = choices_of(LTR_SCHEDULER_TYPE);
  const auto* call = value.get<ast::Call>();
  const auto* name = call != nullptr ? call->callee->get<ast::NameRef>() : nullptr;
  if (name == nullptr) {
    cx.report(diag::wrong_type(value.span, "a scheduler is wanted here, such as `slurm(partition = \"gpu\")`"));
    return {};
  }
  const std::string& scheduler = name->name.text;
  if (std::find(known.begin(), known.end(), scheduler) == known.end()) {
    diagnostics::Diagnostic diagnostic = diag::unknown_scheduler(name->name.span, scheduler);
    note_known(diagnostic, known);
    did_you_mean(diagnostic, scheduler, name->name.span, known);
    cx.report(std::move(diagnostic));
    return {};
  }
  std::vector<SettingValue> settings;
  settings.push_back({setting.name.text, LTR_SCHEDULER_TYPE, symbol_const(scheduler, Type::of(Kind::OneOf), value.span),
                      setting.name.span});
  std::vector<SettingInfo> fields;
  for (const SchedulerField& field : scheduler_fields(scheduler)) fields.push_back(field.setting);
  std::vector<ast::Setting> given;
  for (const ast::Argument& argument : call->arguments) {
    if (!argument.name) {
      cx.report(diag::wrong_argument(argument.value->span, "what a scheduler is told has a name")
                    .help("`{}({} = …)`", scheduler, fields.back().name));
      continue;
    }
    given.push_back({*argument.name, *argument.value});
    auto field = check_setting(given.back(), fields, "`" + scheduler + "`", scope);
    // The others are for whoever writes the job's file.
    if (!field || field->path != "requeue") continue;
    field->path = setting.name.text + ".requeue";
    settings.push_back(std::move(*field));
  }
  check_twice(cx, given);
  return settings;
}

}  // namespace ltr::check
