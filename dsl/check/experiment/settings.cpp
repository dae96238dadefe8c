#include "dsl/check/experiment/settings.h"

#include "runtime/tables/precisions.h"
#include "runtime/tables/schedulers.h"
#include "runtime/tables/strategies.h"

namespace ltr::check {

namespace {

/// The type in a program: as `written`, else that of the run, whose `option[…]` leaving the setting out stands for.
constexpr std::string_view type_in_program(std::string_view type, std::string_view written) {
  constexpr std::string_view option = "option[";
  if (!written.empty()) return written;
  return type.starts_with(option) ? type.substr(option.size(), type.size() - option.size() - 1) : type;
}

}  // namespace

const std::vector<SettingInfo>& settings_of(std::string_view section) {
  static const std::vector<SettingInfo> kTrainer = {
#define LTR_TRAINER(name, Field, type, written, initial, range, doc) {#name, type_in_program(type, written), "trainer"},
#include "runtime/tables/settings.def"
  };
  static const std::vector<SettingInfo> kTopology = {
#define LTR_TOPOLOGY(name, type, written, initial, range, doc) {#name, type_in_program(type, written), "topology"},
#define LTR_FORM(name, written) {#name, written, "topology"},
#include "runtime/tables/settings.def"
  };
  static const std::vector<SettingInfo> kServe = {
#define LTR_SERVE(name, type, initial, range, doc) {#name, type, "serve"},
#include "runtime/tables/settings.def"
  };
  static const std::vector<SettingInfo> kNone;
  return section == "trainer" ? kTrainer : section == "topology" ? kTopology : section == "serve" ? kServe : kNone;
}

}  // namespace ltr::check
