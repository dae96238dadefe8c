#pragma once

// The device that this run computes on.

#include <c10/core/Device.h>

namespace ltr {

/// Where this thread makes new tensors: the CPU until `set_device`. Threads that read data stay on the CPU.
c10::Device run_device();
void set_device(c10::Device device);

}  // namespace ltr
