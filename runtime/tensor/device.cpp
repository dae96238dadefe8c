#include "runtime/tensor/device.h"

namespace ltr {

namespace {

thread_local c10::Device device_of_run(c10::DeviceType::CPU);

}  // namespace

c10::Device run_device() { return device_of_run; }

void set_device(c10::Device device) { device_of_run = device; }

}  // namespace ltr
