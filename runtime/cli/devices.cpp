#include "runtime/cli/devices.h"

#include "runtime/cli/settings.h"
#include "runtime/cli/value_text.h"

namespace ltr::cli {

Option<Devices> read_devices(const Str& text) {
  const size_t open = text.find('[');
  const Devices devices{text.substr(0, open), std::nullopt};
  if (devices.kind != "cpu" && devices.kind != "cuda" && text != "auto") return std::nullopt;
  if (open == Str::npos) return devices;
  Str wanted;
  if (text.back() != ']') return std::nullopt;
  const Option<Value> count = parse_value(text.substr(open + 1, text.size() - open - 2), "int", wanted);
  if (!count || count->whole < 1) return std::nullopt;
  return Devices{devices.kind, count->whole};
}

std::vector<Str> fitting_topologies(const Program& program) {
  std::vector<Str> names;
  for (const TopologyInfo& topology : program.topologies) {
    RunSettings settings;
    topology.resolve(settings);
    settings.add_defaults();
    const Option<Devices> devices = read_devices(show(settings.value("topology.devices")));
    if (devices && devices->kind != "cuda") names.emplace_back(topology.name);
  }
  return names;
}

}  // namespace ltr::cli
