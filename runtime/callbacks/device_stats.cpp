// `DeviceStats` of runtime.md 3.3: memory, processor and disk, as system values.

#include <sys/resource.h>

#include <filesystem>

#include "doors/memory.h"
#include "runtime/callbacks/arguments.h"
#include "runtime/callbacks/make.h"
#include "runtime/tensor/device.h"

namespace ltr {

namespace {

/// Seconds that all threads of the process have computed.
double processor_s() {
  rusage used{};
  ::getrusage(RUSAGE_SELF, &used);
  const auto seconds = [](const timeval& time) { return double(time.tv_sec) + double(time.tv_usec) * 1e-6; };
  return seconds(used.ru_utime) + seconds(used.ru_stime);
}

class DeviceStats : public Listener {
 public:
  DeviceStats(double every_s, const FitView& view) : every_s_(every_s), view_(view) {}
  uint32_t interests() const override { return kAfterWindow; }

  void after_window() override {
    if (view_.request.recorder == nullptr || seconds_since(before_) < every_s_) return;
    const double passed_s = seconds_since(before_);
    const double computed_s = processor_s();
    Named values = {{"host/memory_bytes", double(doors::resident_memory())},
                    {"host/free_bytes", double(doors::free_memory())},
                    {"host/cores_used", (computed_s - computed_s_) / passed_s}};
    before_ = Times::Clock::now();
    computed_s_ = computed_s;
    std::error_code none;
    const std::filesystem::space_info disk = std::filesystem::space(view_.request.run_dir, none);
    if (!none) values.emplace_back("disk/free_bytes", double(disk.available));
    if (accelerator() != nullptr) {
      const DeviceMemory memory = compute_device_memory();
      values.emplace_back("device/used_bytes", double(memory.total - memory.free));
      values.emplace_back("device/reserved_bytes", double(memory.reserved));
      values.emplace_back("device/tensor_bytes", double(compute_device_tensor_bytes()));
      values.emplace_back("device/peak_bytes", double(memory.peak));
    }
    view_.request.recorder->system(view_.at.global_step, std::move(values));
  }

 private:
  double every_s_;
  FitView view_;
  Times::Clock::time_point before_ = Times::Clock::now();
  double computed_s_ = processor_s();
};

}  // namespace

ListenerPtr make_device_stats(const Value& call, const FitView& view) {
  const Value* every = argument(call, "every");
  return std::make_unique<DeviceStats>(every == nullptr ? 10 : every->real, view);
}

}  // namespace ltr
