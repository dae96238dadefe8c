#pragma once

// What the runtime asks of a device other than the CPU. libltr_runtime_cuda answers for NVIDIA's; tests have one of their
// own over host memory. The library is loaded when a run computes there, and only then: this header knows nothing of CUDA.

#include <ATen/core/Generator.h>
#include <ATen/core/Tensor.h>
#include <c10/util/intrusive_ptr.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace c10d {
class Backend;
class Store;
}  // namespace c10d

namespace ltr {

/// One device, as its driver describes it.
struct DeviceFacts {
  std::string name;      ///< `NVIDIA H100 80GB HBM3`
  int architecture = 0;  ///< ten times the compute capability: 90
  int64_t memory_bytes = 0;
};

/// Bytes of a device, in all and as this process' allocator sees them.
struct DeviceMemory {
  int64_t total = 0;
  int64_t free = 0;      ///< what no process holds
  int64_t reserved = 0;  ///< what its allocator took of the device, tensors included
  int64_t peak = 0;      ///< most that its tensors ever had at once
};

/// How the libraries of a device are to compute.
struct DeviceModes {
  bool tf32 = false;          ///< products of f32 in TF32 units
  bool deterministic = true;  ///< only kernels that give the same bits again
  bool benchmark = false;     ///< convolution algorithms chosen by timing
};

/// A place in the queue of a device: everything that was queued before it was made.
class QueueMark {
 public:
  QueueMark() = default;
  QueueMark(const QueueMark&) = delete;
  QueueMark& operator=(const QueueMark&) = delete;
  virtual ~QueueMark() = default;
  /// Blocks the host until the device is past it.
  virtual void wait() = 0;
};

/// Work that was put together once and is queued by one call: the same kernels, on the same memory.
class Replay {
 public:
  Replay() = default;
  Replay(const Replay&) = delete;
  Replay& operator=(const Replay&) = delete;
  virtual ~Replay() = default;
  /// Queues it; each draw starts from the seed of its site.
  virtual void run(const std::function<uint64_t(uint64_t site)>& seed_of) = 0;
};

class Accelerator {
 public:
  Accelerator() = default;
  Accelerator(const Accelerator&) = delete;
  Accelerator& operator=(const Accelerator&) = delete;
  virtual ~Accelerator() = default;

  /// Where its tensors lie.
  virtual c10::DeviceType type() const = 0;
  /// Whether `tensor` is one of them.
  virtual bool holds(const at::Tensor& tensor) const { return tensor.device().type() == type(); }
  /// The libraries that it was built with, by name: cuda 13.0, cudnn 9.19, nccl 2.28.9.
  virtual std::vector<std::pair<std::string, std::string>> libraries() const = 0;
  /// The architectures that it has code for, ascending: 75, 80, 90.
  virtual std::vector<int> architectures() const = 0;

  /// Devices that this process may use.
  virtual int64_t count() const = 0;
  /// Why there is none, in the words of the driver; "" if there is one.
  virtual std::string why_none() const = 0;
  virtual DeviceFacts facts(int64_t index) const = 0;
  virtual DeviceMemory memory(int64_t index) const = 0;
  /// Bytes of live tensors of this process; asks no driver.
  virtual int64_t tensor_bytes(int64_t index) const = 0;

  /// This process computes on device `index`. Before its first tensor.
  virtual void choose(int64_t index) = 0;
  virtual void set_modes(const DeviceModes& modes) = 0;
  /// The queue of this thread as the device's own API names it (`cudaStream_t`), for the program's own kernels.
  virtual void* stream() const = 0;
  virtual std::unique_ptr<QueueMark> mark() = 0;
  /// Tensors of the host on the device. They go there beside what is queued, which what is queued from here on waits for;
  /// the host waits for nothing, if `host_memory` gave theirs. What is there already, or undefined, stays what it is.
  virtual std::vector<at::Tensor> to_device(const std::vector<at::Tensor>& host) = 0;
  /// A copy in host memory, whose elements are there once a mark made afterwards is passed.
  virtual at::Tensor to_host(const at::Tensor& tensor) = 0;
  /// A new tensor in host memory that the device can copy from while the host goes on.
  virtual at::Tensor host_memory(at::IntArrayRef sizes, at::ScalarType type) = 0;

  /// For one draw at `site`: a generator that starts anew from `seed`.
  virtual at::Generator generator(uint64_t site, uint64_t seed) = 0;
  /// Puts together what `compute` queues, with `draws` draws at most; nothing of it runs. The tensors that it returns, and all others
  /// that it makes, lie where each run of the replay writes them, in memory that replays share once no tensor lies there: they run in the order
  /// in which they were captured. What `compute` throws passes; so does what a device says to work that waits for it.
  virtual std::unique_ptr<Replay> capture(size_t draws, const std::function<std::vector<at::Tensor>()>& compute) = 0;
  /// Memory that its allocator holds for tensors to come goes back to the device.
  virtual void give_back() = 0;

  /// How the `world` processes that meet at `store` exchange tensors of this device. Every one of them calls it.
  virtual c10::intrusive_ptr<c10d::Backend> make_group(const c10::intrusive_ptr<c10d::Store>& store, int rank,
                                                       int world, std::chrono::milliseconds timeout) = 0;
};

}  // namespace ltr
