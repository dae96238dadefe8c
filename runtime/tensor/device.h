#pragma once

// The device that this run computes on.

#include <c10/core/Device.h>

#include <vector>

#include "ltr/api.h"
#include "runtime/tensor/accelerator.h"

namespace ltr {

/// Where this thread makes new tensors: the CPU until a scope says otherwise. Threads that read data stay on the CPU.
c10::Device run_device();

/// This thread makes new tensors on `device` while it lives.
class DeviceScope {
 public:
  explicit DeviceScope(c10::Device device);
  ~DeviceScope();
  DeviceScope(const DeviceScope&) = delete;
  DeviceScope& operator=(const DeviceScope&) = delete;

 private:
  c10::Device before_;
};

/// The process computes on device `index` of `accelerator`; null: on the CPU. The thread that runs the steps says so: its
/// backward passes stay in it.
void use_accelerator(Accelerator* accelerator, int64_t index = 0);
/// What the process computes on, null for the CPU. With one, numbers come later than the host goes on: whoever reads one
/// waits.
Accelerator* accelerator();
/// The device of the process, whatever this thread makes.
c10::Device compute_device();
/// `cpu`, `cuda:0 NVIDIA H100 80GB HBM3`.
Str compute_device_name();
/// Of the device that the process computes on; only with an accelerator.
DeviceMemory compute_device_memory();
int64_t compute_device_tensor_bytes();

/// A new tensor in host memory for what goes to the device of the process.
at::Tensor host_memory(at::IntArrayRef sizes, at::ScalarType type);
/// Whether the numbers of `tensor` come later than the host goes on, so that reading one is waiting.
bool comes_later(const at::Tensor& tensor);

}  // namespace ltr
