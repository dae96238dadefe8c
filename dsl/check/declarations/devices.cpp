#include "dsl/check/declarations/devices.h"

#include <algorithm>
#include <charconv>

#include "dsl/check/experiment/settings.h"
#include "runtime/tables/ranges.h"

namespace ltr::check {

const std::vector<std::string>& device_kinds() {
  static const std::vector<std::string> kKinds = {
      "auto",
#define LTR_DEVICE(name) #name,
#include "runtime/tables/devices.def"
  };
  return kKinds;
}

std::optional<Devices> read_devices(const std::string& text) {
  const size_t open = text.find('[');
  Devices devices{text.substr(0, open), 0};
  const auto& kinds = device_kinds();
  if (std::find(kinds.begin(), kinds.end(), devices.kind) == kinds.end()) return std::nullopt;
  if (open == std::string::npos) return devices;
  if (!text.ends_with("]")) return std::nullopt;
  const char* const end = text.data() + text.size() - 1;
  const auto [stop, error] = std::from_chars(text.data() + open + 1, end, devices.count);
  const bool is_number = stop == end && error == std::errc();
  if (!is_number || devices.kind == "auto" || broken_rule("topology.devices", double(devices.count)))
    return std::nullopt;
  return devices;
}

}  // namespace ltr::check
