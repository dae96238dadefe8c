#pragma once

// A device for tests that lies in host memory and, like a real one, is behind the host: what it copies to the host is there
// only once a mark behind it is waited for. Every read of a number counts as one that waits.

#include <ATen/ATen.h>

#include <algorithm>
#include <atomic>
#include <mutex>
#include <utility>

#include "runtime/tensor/device.h"

namespace ltr::fake {

class FakeAccelerator final : public Accelerator {
 public:
  explicit FakeAccelerator(int64_t devices = 1, int architecture = 90)
      : devices_(devices), architecture_(architecture) {}

  c10::DeviceType type() const override { return c10::DeviceType::CPU; }
  bool holds(const at::Tensor& tensor) const override { return tensor.is_cpu() && !has_lent(tensor); }
  std::vector<std::pair<std::string, std::string>> libraries() const override { return {{"cuda", "0.1"}}; }
  std::vector<int> architectures() const override { return {80, 90}; }
  int64_t count() const override { return devices_; }
  std::string why_none() const override { return devices_ > 0 ? "" : "no driver"; }
  DeviceFacts facts(int64_t) const override { return {"Fake 1000", architecture_, int64_t(8) << 30}; }
  DeviceMemory memory(int64_t) const override {
    return {int64_t(8) << 30, int64_t(100) << 20, int64_t(7) << 30, int64_t(7) << 30};
  }
  int64_t tensor_bytes(int64_t) const override { return int64_t(7) << 30; }
  void choose(int64_t index) override { chosen = index; }
  void set_modes(const DeviceModes& modes) override { this->modes = modes; }
  void* stream() const override { return nullptr; }
  std::unique_ptr<QueueMark> mark() override {
    const std::scoped_lock lock(mutex_);
    return std::make_unique<Mark>(*this, copies_.size());
  }
  std::vector<at::Tensor> to_device(const std::vector<at::Tensor>& host) override {
    std::vector<at::Tensor> there;
    for (const at::Tensor& tensor : host) there.push_back(tensor.defined() ? tensor.clone() : tensor);
    batches++;
    return there;
  }
  at::Tensor to_host(const at::Tensor& tensor) override {
    at::Tensor host = at::full(tensor.sizes(), -12345, tensor.options());
    const std::scoped_lock lock(mutex_);
    copies_.emplace_back(host, tensor.clone());
    return host;
  }
  at::Tensor host_memory(at::IntArrayRef sizes, at::ScalarType type) override {
    const std::scoped_lock lock(mutex_);
    return lent_.emplace_back(at::empty(sizes, type));
  }
  /// Whether `tensor` lies where the device copies from.
  bool has_lent(const at::Tensor& tensor) const {
    const std::scoped_lock lock(mutex_);
    return std::any_of(lent_.begin(), lent_.end(), [&](const at::Tensor& one) { return one.is_alias_of(tensor); });
  }
  at::Generator generator(uint64_t, uint64_t) override {
    throw std::logic_error("tensors of the host draw for themselves");
  }
  std::unique_ptr<Replay> capture(size_t, const std::function<std::vector<at::Tensor>()>& compute) override {
    captures++;
    std::vector<at::Tensor> results = compute();
    if (refusals-- > 0) throw std::runtime_error("operation not permitted when stream is capturing");
    return std::make_unique<Again>(*this, compute, std::move(results));
  }
  void give_back() override {}
  c10::intrusive_ptr<c10d::Backend> make_group(const c10::intrusive_ptr<c10d::Store>&, int, int,
                                               std::chrono::milliseconds) override {
    throw std::logic_error("the fake device meets nobody");
  }

  int64_t chosen = -1;
  std::atomic<int64_t> batches = 0;  ///< that came to the device
  int64_t captures = 0, replays = 0;
  int64_t refusals = 0;  ///< captures that do not come about
  DeviceModes modes;

 private:
  struct Again final : Replay {
    Again(FakeAccelerator& of, std::function<std::vector<at::Tensor>()> what, std::vector<at::Tensor> where)
        : device(of), compute(std::move(what)), results(std::move(where)) {}
    void run(const std::function<uint64_t(uint64_t)>&) override {
      if (device.replays++, std::exchange(is_first, false)) return;  // It ran while it was captured.
      const std::vector<at::Tensor> now = compute();
      for (size_t i = 0; i < now.size(); ++i) {
        if (now[i].defined()) results[i].copy_(now[i]);
      }
    }
    FakeAccelerator& device;
    std::function<std::vector<at::Tensor>()> compute;
    std::vector<at::Tensor> results;
    bool is_first = true;
  };
  struct Mark final : QueueMark {
    Mark(FakeAccelerator& of, size_t until) : device(of), copies(until) {}
    void wait() override {
      const std::scoped_lock lock(device.mutex_);
      for (size_t& i = device.arrived_; i < copies; i++) device.copies_[i].first.copy_(device.copies_[i].second);
    }
    FakeAccelerator& device;
    size_t copies;
  };

  int64_t devices_;
  int architecture_;
  std::vector<std::pair<at::Tensor, at::Tensor>> copies_;  ///< to here, of this
  size_t arrived_ = 0;
  std::vector<at::Tensor> lent_;
  mutable std::mutex mutex_;  ///< ranks of tests are threads
};

/// The process computes on a fake device while it lives.
struct OnFakeDevice {
  OnFakeDevice() { use_accelerator(&device); }
  ~OnFakeDevice() { use_accelerator(nullptr); }
  OnFakeDevice(const OnFakeDevice&) = delete;
  OnFakeDevice& operator=(const OnFakeDevice&) = delete;
  FakeAccelerator device;
};

}  // namespace ltr::fake
