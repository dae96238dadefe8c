#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "dsl/ast/decl.h"
#include "dsl/check/typed.h"

namespace ltr::check {

struct Context;
struct Scope;

/// A setting of a section: its name and the type that a value must have, as it is written in
/// `.ltr`.
struct SettingInfo {
  const char* name;
  std::string_view type;
  const char* section = "topology";  ///< with the name the path of a run's setting
};
/// Those in the braces of `section`: `trainer`, `topology` or `serve`; of others no list is closed, and none is given.
const std::vector<SettingInfo>& settings_of(std::string_view section);

/// The words of `one_of[a, b]`.
std::vector<std::string> choices_of(const std::string& type);
/// A call of one of the named functions that give values of settings, `fraction(0.1)`; nothing if `value` is none.
std::optional<Expr> check_setting_call(const ast::Expr& value, const std::vector<std::string>& names, Scope& scope);
/// A setting of a closed list, typed; nothing after a report.
std::optional<SettingValue> check_setting(const ast::Setting& setting, const std::vector<SettingInfo>& known,
                                          const std::string& section, Scope& scope);
/// What a scheduler may be told.
struct SchedulerField {
  SettingInfo setting;
  const char* doc;
};
/// What `scheduler` may be told; first what all of them may.
std::vector<SchedulerField> scheduler_fields(const std::string& scheduler);
/// `scheduler = slurm(requeue = false, …)` as its name and what of its fields a run looks at; nothing after a report.
std::vector<SettingValue> check_scheduler(const ast::Setting& setting, Scope& scope);
/// E0612: a setting that stands twice in one pair of braces.
void check_twice(Context& cx, const std::vector<ast::Setting>& settings);
/// Replaces the settings of the same names, and adds the others.
void put(std::vector<ast::Setting>& into, const std::vector<ast::Setting>& from);

}  // namespace ltr::check
