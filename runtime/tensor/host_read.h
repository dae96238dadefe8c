#pragma once

// Numbers on their way from the device to the host. The trainer and the facade read a tensor through here alone, so that
// what waits for the device can be counted: between two recorded steps there is none.

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <span>
#include <vector>

#include "ltr/api.h"

namespace ltr {

/// The number of a tensor of one element. Waits for the device, and counts.
double read_number(const at::Tensor& scalar);
int64_t read_whole_number(const at::Tensor& scalar);
/// `tensor` in host memory; itself if it lies there. Waits for the device, and counts.
at::Tensor on_host(const at::Tensor& tensor);
/// What the host made of `given`, to where that lies.
at::Tensor back_to(const Tensor& given, const at::Tensor& made);
/// How many such reads this process made.
int64_t host_reads();

/// The number of a one-element tensor that lies in the host's own memory: nothing is waited for.
double number_in_memory(const at::Tensor& scalar);

/// Numbers that stay where they were computed until somebody reads all of them at once.
class DeviceValues {
 public:
  /// Keeps the number of `scalar`; does not wait. On the CPU the number is there already and is copied.
  void keep(const at::Tensor& scalar);
  void keep(double number);
  size_t size() const { return numbers_.size(); }
  /// All that was kept, in order. Waits once, if anything lies on another device.
  std::span<const double> read();
  void clear();

 private:
  std::vector<double> numbers_;
  std::vector<std::pair<size_t, at::Tensor>> waiting_;  ///< on other devices, with their places
};

}  // namespace ltr
