#pragma once

#include <string>
#include <vector>

namespace ltr::check {

/// A setting of a section: its name and the type that a value must have, as it is written in
/// `.ltr`.
struct SettingInfo {
  const char* name;
  const char* type;
};
const std::vector<SettingInfo>& trainer_settings();
const std::vector<SettingInfo>& topology_settings();

}  // namespace ltr::check
