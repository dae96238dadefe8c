#include "runtime/cli/device_choice.h"

#include <algorithm>
#include <cstdlib>

#include "runtime/tables/precisions.h"

namespace ltr::cli {

namespace {

/// The first architecture that has TF32 units.
constexpr int kAmpere = 80;

Str architecture_text(int architecture) { return fmt::format("sm_{}", architecture); }

/// What was typed is the place.
Location place_of(const DeviceWish& wish, const Str& typed) { return typed.empty() ? wish.location : Location(); }

Error refusal(const DeviceWish& wish, const Str& text) {
  const int64_t count = wish.devices.count;
  Str help = fmt::format("use --devices {}", count > 0 ? fmt::format("cpu[{}]", count) : "cpu");
  const std::vector<Str> fitting = wish.fitting();
  if (!fitting.empty()) help += fmt::format(", or --topology {}", fmt::join(fitting, ", --topology "));
  return with_help(error_at(place_of(wish, wish.typed_devices), err::topology_unavailable, text), help);
}

Str asked(const DeviceWish& wish) {
  if (!wish.typed_devices.empty()) return wish.typed_devices;
  const auto& [kind, count] = wish.devices;
  return fmt::format("the topology {} asks for {}", wish.topology,
                     count == 0 ? kind : fmt::format("{}[{}]", kind, count));
}

Error precision_refusal(const DeviceWish& wish, const Str& needs, const Str& values) {
  const Str& typed = wish.typed_precision;
  const Str text = fmt::format("precision {} needs {}", wish.precision, needs);
  return with_help(
      error_at(place_of(wish, typed), err::topology_unavailable, typed.empty() ? text : typed + ": " + text),
      (typed.empty() ? "use " : "--set topology.precision=N, where N is ") + values);
}

void check_on_cpu(const DeviceWish& wish) {
  if (!needs_gpu(wish.precision)) return;
  const Str& devices = wish.typed_devices;
  const Str where = devices.empty() ? fmt::format("the topology {} runs on the CPU here", wish.topology)
                                    : devices + " is the CPU here";
  throw precision_refusal(wish, "a GPU, and " + where, "f32, bf16, bf16_pure or f64");
}

void check_facts(const DeviceWish& wish, const Accelerator& there, int64_t index) {
  const DeviceFacts facts = there.facts(index);
  const std::vector<int> built = there.architectures();
  // Code of an older architecture runs on a newer one of the same generation; of an older generation it does not.
  const bool runs = std::any_of(built.begin(), built.end(), [&](int one) {
    return one <= facts.architecture && one / 10 == facts.architecture / 10;
  });
  if (!runs && !built.empty()) {
    std::vector<Str> names;
    for (const int one : built) names.push_back(architecture_text(one));
    throw refusal(wish, fmt::format("{} is {}; this LibTorch has code for {}", facts.name,
                                    architecture_text(facts.architecture), fmt::join(names, ", ")));
  }
  if (wish.precision == "tf32" && facts.architecture < kAmpere) {
    throw precision_refusal(wish,
                            fmt::format("{} or newer, and {} is {}", architecture_text(kAmpere), facts.name,
                                        architecture_text(facts.architecture)),
                            "f32, or f16 with its loss scale");
  }
}

/// Whether that is a GPU; R2008 if there can be none. The driver is asked: the plug-in takes half a second and 350 MB.
bool is_on_gpu(const DeviceWish& wish, const Machine& machine) {
  const bool may_be_cpu = wish.devices.kind == "auto";
  const Str file = wish.devices.kind == "cpu" ? "" : machine.plugin_file();
  const int64_t shown = wish.devices.kind == "cpu" ? 0 : machine.driver_devices();
  if (wish.devices.kind == "cpu" || (may_be_cpu && (file.empty() || shown == 0))) {
    check_on_cpu(wish);
    return false;
  }
  if (file.empty()) {
    throw refusal(wish, fmt::format("{}, but this runtime was built without CUDA{}", asked(wish),
                                    shown > 0 ? "; build Ltr with LTR_CUDA=ON ./bootstrap" : ""));
  }
  if (shown == 0) {
    const char* hidden = std::getenv("CUDA_VISIBLE_DEVICES");
    throw refusal(wish, fmt::format("{}, but the NVIDIA driver shows no device here{}", asked(wish),
                                    hidden != nullptr ? fmt::format(" (CUDA_VISIBLE_DEVICES is \"{}\")", hidden) : ""));
  }
  return true;
}

}  // namespace

const Machine& this_machine() {
  static const Machine kThis{plugin_file, driver_devices, load_plugin};
  return kThis;
}

void check_devices(const DeviceWish& wish, const Machine& machine) {
  if (!is_on_gpu(wish, machine)) return;
  const int64_t shown = machine.driver_devices(), ranks = wish.local_rank + 1;
  if (shown >= std::max(wish.devices.count, ranks)) return;
  const Str each = ranks > wish.devices.count ? fmt::format(", one for each of {} ranks", ranks) : "";
  throw refusal(wish, fmt::format("{}{}, but the NVIDIA driver shows {} here", asked(wish), each, shown));
}

DeviceChoice choose_device(const DeviceWish& wish, const Machine& machine) {
  if (!is_on_gpu(wish, machine)) return {};
  const Plugin plugin = machine.load(machine.plugin_file());
  if (plugin.accelerator == nullptr) {
    throw refusal(wish, fmt::format("{}, but the CUDA runtime cannot be loaded: {}", asked(wish), plugin.why_not));
  }
  const int64_t there = plugin.accelerator->count();
  if (there == 0) {
    throw refusal(wish, fmt::format("{}, but CUDA finds no device: {}", asked(wish), plugin.accelerator->why_none()));
  }
  if (there < wish.devices.count || there <= wish.local_rank) {
    throw refusal(
        wish, fmt::format("{}, but this machine has {} of {}", asked(wish), there, plugin.accelerator->facts(0).name));
  }
  check_facts(wish, *plugin.accelerator, wish.local_rank);
  return {plugin.accelerator, wish.local_rank};
}

}  // namespace ltr::cli
