#include "runtime/tensor/device.h"

#include <ATen/ATen.h>
#include <c10/core/AutogradState.h>
#include <fmt/format.h>

#include <utility>

namespace ltr {

namespace {

thread_local c10::Device device_of_thread(c10::DeviceType::CPU);
Accelerator* accelerator_of_process = nullptr;
int64_t index_of_process = 0;
c10::Device device_of_process(c10::DeviceType::CPU);

}  // namespace

c10::Device run_device() { return device_of_thread; }

DeviceScope::DeviceScope(c10::Device device) : before_(std::exchange(device_of_thread, device)) {}

DeviceScope::~DeviceScope() { device_of_thread = before_; }

void use_accelerator(Accelerator* accelerator, int64_t index) {
  accelerator_of_process = accelerator;
  index_of_process = index;
  device_of_process = c10::Device(c10::DeviceType::CPU);
  if (accelerator == nullptr) return;
  accelerator->choose(index);
  // LibTorch would walk a backward pass over tensors of a device in a thread of its own, where nothing is known of what this
  // one knows: the mode, the precision and its casts, the place in the program, who looks at the ops.
  c10::AutogradState::get_tls_state().set_multithreading_enabled(false);
  // The fake one of tests lies in host memory, which has no numbers.
  const bool is_host = accelerator->type() == c10::DeviceType::CPU;
  device_of_process =
      is_host ? device_of_process : c10::Device(accelerator->type(), static_cast<c10::DeviceIndex>(index));
}

Accelerator* accelerator() { return accelerator_of_process; }

c10::Device compute_device() { return device_of_process; }

Str compute_device_name() {
  if (accelerator_of_process == nullptr) return "cpu";
  return fmt::format("{} {}", device_of_process.str(), accelerator_of_process->facts(index_of_process).name);
}

int64_t compute_device_tensor_bytes() { return accelerator_of_process->tensor_bytes(index_of_process); }

DeviceMemory compute_device_memory() { return accelerator_of_process->memory(index_of_process); }

at::Tensor host_memory(at::IntArrayRef sizes, at::ScalarType type) {
  return accelerator_of_process == nullptr ? at::empty(sizes, type) : accelerator_of_process->host_memory(sizes, type);
}

bool comes_later(const at::Tensor& tensor) {
  return accelerator_of_process != nullptr && accelerator_of_process->holds(tensor);
}

}  // namespace ltr
