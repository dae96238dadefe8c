#pragma once

// From `devices` and `precision` of a topology to the device of this process (runtime.md 13.1). The plug-in is loaded
// here, right after the settings are known and before the first tensor.

#include <functional>

#include "runtime/api/error.h"
#include "runtime/settings/devices.h"
#include "runtime/tensor/plugin.h"

namespace ltr::cli {

/// What is there to compute on.
struct Machine {
  std::function<Str()> plugin_file;
  std::function<int64_t()> driver_devices;
  std::function<Plugin(const Str& file)> load;
};
/// This one.
const Machine& this_machine();

/// What a run asks for.
struct DeviceWish {
  Devices devices;
  Str precision = "f32";
  int64_t local_rank = 0;
  Location location;
  Str topology = "default";
  Str typed_devices = "";                     ///< as in a command; "" where the topology says which
  Str typed_precision = "";                   ///< likewise
  std::function<std::vector<Str>()> fitting;  ///< topologies of the program that need no GPU, if somebody asks
};

/// The device of this process.
struct DeviceChoice {
  Accelerator* accelerator = nullptr;  ///< null: the CPU
  int64_t index = 0;
};

/// For the ranks of this machine up to `wish.local_rank`, before there are any: R2008 as far as the driver knows it. Loads
/// nothing.
void check_devices(const DeviceWish& wish, const Machine& machine = this_machine());

/// R2008 if the machine lacks what is asked for: it says what there is, and what would do.
DeviceChoice choose_device(const DeviceWish& wish, const Machine& machine = this_machine());

}  // namespace ltr::cli
