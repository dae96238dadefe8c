#include "runtime/train/fingerprint.h"

#include <ATen/ATen.h>

#include <array>
#include <cstring>

#include "runtime/tensor/host_read.h"

namespace ltr {

namespace {

// Odd numbers without pattern: the fractional bits of golden ratio and of the square root of 3.
constexpr uint64_t kFactor = 0x9E3779B97F4A7C15, kStart = 0xBB67AE8584CAA73B;

uint64_t mixed(uint64_t state, uint64_t word) {
  state = (state ^ word) * kFactor;
  return state ^ (state >> 29);
}

}  // namespace

uint64_t fingerprint(const at::Tensor& tensor) {
  const at::Tensor host = on_host(tensor).contiguous();
  const char* data = static_cast<const char*>(host.const_data_ptr());
  const size_t bytes = host.nbytes();
  // Four sums side by side: one alone waits for its own multiplication.
  constexpr size_t kLanes = 4, kStride = kLanes * sizeof(uint64_t);
  std::array<uint64_t, kLanes> lanes{kStart, kStart + 1, kStart + 2, kStart + 3};
  size_t at = 0;
  for (; at + kStride <= bytes; at += kStride) {
    std::array<uint64_t, kLanes> words;
    std::memcpy(words.data(), data + at, kStride);
    for (size_t lane = 0; lane < kLanes; lane++) lanes[lane] = mixed(lanes[lane], words[lane]);
  }
  uint64_t all = mixed(kStart, uint64_t(host.scalar_type()));
  for (const int64_t size : host.sizes()) all = mixed(all, uint64_t(size));
  for (const uint64_t lane : lanes) all = mixed(all, lane);
  for (; at < bytes; at++) all = mixed(all, uint8_t(data[at]));
  return all;
}

}  // namespace ltr
