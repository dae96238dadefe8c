#include "runtime/tensor/host_read.h"

#include <ATen/ATen.h>

#include <atomic>

#include "runtime/tensor/device.h"
#include "runtime/tensor/handle.h"

namespace ltr {

namespace {

std::atomic<int64_t> reads = 0;

}  // namespace

double read_number(const at::Tensor& scalar) {
  reads.fetch_add(1, std::memory_order_relaxed);
  return scalar.item().toDouble();
}

int64_t read_whole_number(const at::Tensor& scalar) {
  reads.fetch_add(1, std::memory_order_relaxed);
  return scalar.item().toLong();
}

at::Tensor on_host(const at::Tensor& tensor) {
  if (!comes_later(tensor)) return tensor.detach();
  reads.fetch_add(1, std::memory_order_relaxed);
  return tensor.detach().cpu();
}

at::Tensor back_to(const Tensor& given, const at::Tensor& made) { return made.to(In(given)->device()); }

int64_t host_reads() { return reads.load(std::memory_order_relaxed); }

double number_in_memory(const at::Tensor& scalar) {
  switch (scalar.scalar_type()) {
    case at::kFloat: return double(*scalar.const_data_ptr<float>());
    case at::kDouble: return *scalar.const_data_ptr<double>();
    case at::kBFloat16: return double(*scalar.const_data_ptr<at::BFloat16>());
    case at::kLong: return double(*scalar.const_data_ptr<int64_t>());
    default: return scalar.item().toDouble();
  }
}

void DeviceValues::keep(const at::Tensor& scalar) {
  if (!comes_later(scalar) && scalar.numel() == 1) {
    numbers_.push_back(number_in_memory(scalar));
    return;
  }
  waiting_.emplace_back(numbers_.size(), scalar.detach());
  numbers_.push_back(0);
}

void DeviceValues::keep(double number) { numbers_.push_back(number); }

std::span<const double> DeviceValues::read() {
  if (!waiting_.empty()) {
    std::vector<at::Tensor> scalars;
    for (const auto& [place, scalar] : waiting_) scalars.push_back(scalar.to(at::kDouble).reshape({}));
    reads.fetch_add(1, std::memory_order_relaxed);
    const at::Tensor all = at::stack(scalars).cpu();
    for (size_t i = 0; i < waiting_.size(); i++) numbers_[waiting_[i].first] = all.const_data_ptr<double>()[i];
    waiting_.clear();
  }
  return numbers_;
}

void DeviceValues::clear() {
  numbers_.clear();
  waiting_.clear();
}

}  // namespace ltr
