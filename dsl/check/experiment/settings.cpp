#include "dsl/check/experiment/settings.h"

#include "runtime/api/strategies.h"

namespace ltr::check {

const std::vector<SettingInfo>& trainer_settings() {
  static const std::vector<SettingInfo> kSettings = {
#define LTR_TRAINER_SETTING(name, type) {#name, type},
#define LTR_TOPOLOGY_SETTING(name, type)
#include "dsl/check/experiment/settings.def"
  };
  return kSettings;
}

const std::vector<SettingInfo>& topology_settings() {
  static const std::vector<SettingInfo> kSettings = {
#define LTR_TRAINER_SETTING(name, type)
#define LTR_TOPOLOGY_SETTING(name, type) {#name, type},
#include "dsl/check/experiment/settings.def"
  };
  return kSettings;
}

}  // namespace ltr::check
