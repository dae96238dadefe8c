#include "runtime/settings/devices.h"

#include <algorithm>
#include <iterator>

#include "doors/csv.h"
#include "runtime/api/value_range.h"

namespace ltr {

namespace {

constexpr const char* kKinds[] = {
#define LTR_DEVICE(name) #name,
#include "runtime/tables/devices.def"
};

}  // namespace

Option<Devices> read_devices(const Str& text) {
  if (text == "auto") return Devices();
  const size_t open = text.find('[');
  Devices devices{text.substr(0, open), 0};
  if (std::find(std::begin(kKinds), std::end(kKinds), devices.kind) == std::end(kKinds)) return std::nullopt;
  if (open == Str::npos) return devices;
  const bool is_number =
      text.ends_with("]") && doors::parse_int(text.substr(open + 1, text.size() - open - 2), devices.count);
  if (!is_number || broken_range("topology.devices", Value(devices.count))) return std::nullopt;
  return devices;
}

}  // namespace ltr
