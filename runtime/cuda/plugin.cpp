// libltr_runtime_cuda: what runtime/tensor/accelerator.h asks, answered by CUDA.

#include <ATen/ATen.h>
#include <ATen/Context.h>
#include <ATen/cuda/CUDAEvent.h>
#include <ATen/detail/CUDAHooksInterface.h>
#include <c10/cuda/CUDACachingAllocator.h>
#include <c10/cuda/CUDAFunctions.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>
#include <cuda_runtime_api.h>
#include <nccl.h>

#include <optional>

#include "runtime/cuda/capture.h"
#include "runtime/cuda/nccl_group.h"
#include "runtime/tensor/accelerator.h"

namespace ltr::cuda {

namespace {

c10::DeviceIndex device_index(int64_t index) { return static_cast<c10::DeviceIndex>(index); }

class Mark final : public QueueMark {
 public:
  Mark() { event_.record(); }
  void wait() override { event_.synchronize(); }

 private:
  at::cuda::CUDAEvent event_;
};

class Cuda final : public Accelerator {
 public:
  c10::DeviceType type() const override { return c10::DeviceType::CUDA; }

  std::vector<std::pair<std::string, std::string>> libraries() const override {
    int runtime = 0, nccl = 0;
    cudaRuntimeGetVersion(&runtime);
    ncclGetVersion(&nccl);
    const long cudnn = at::detail::getCUDAHooks().versionCuDNN();
    const auto text = [](long number) { return std::to_string(number); };
    return {{"cuda", text(runtime / 1000) + '.' + text(runtime % 1000 / 10)},
            {"cudnn", text(cudnn / 10000) + '.' + text(cudnn / 100 % 100)},
            {"nccl", text(nccl / 10000) + '.' + text(nccl / 100 % 100) + '.' + text(nccl % 100)}};
  }

  std::vector<int> architectures() const override { return {LTR_CUDA_ARCHITECTURES}; }

  int64_t count() const override {
    int count = 0;
    return cudaGetDeviceCount(&count) == cudaSuccess ? count : 0;
  }

  std::string why_none() const override {
    int count = 0;
    const cudaError_t status = cudaGetDeviceCount(&count);
    if (status == cudaSuccess) return count > 0 ? "" : "the driver shows none";
    static_cast<void>(cudaGetLastError());  // or the next call would report it again
    return cudaGetErrorString(status);
  }

  DeviceFacts facts(int64_t index) const override {
    cudaDeviceProp about{};
    C10_CUDA_CHECK(cudaGetDeviceProperties(&about, int(index)));
    return {about.name, about.major * 10 + about.minor, int64_t(about.totalGlobalMem)};
  }

  DeviceMemory memory(int64_t index) const override {
    const c10::cuda::CUDAGuard here(device_index(index));
    size_t free = 0, total = 0;
    C10_CUDA_CHECK(cudaMemGetInfo(&free, &total));
    const auto stats = c10::cuda::CUDACachingAllocator::getDeviceStats(device_index(index));
    return {int64_t(total), int64_t(free), stats.reserved_bytes[0].current, stats.allocated_bytes[0].peak};
  }

  int64_t tensor_bytes(int64_t index) const override {
    return c10::cuda::CUDACachingAllocator::getDeviceStats(device_index(index)).allocated_bytes[0].current;
  }

  void choose(int64_t index) override {
    c10::cuda::set_device(device_index(index));
    at::globalContext().lazyInitDevice(c10::DeviceType::CUDA);
    copies_.emplace(c10::cuda::getStreamFromPool(false, device_index(index)));
  }

  void set_modes(const DeviceModes& modes) override {
    at::Context& context = at::globalContext();
    context.setAllowTF32CuBLAS(modes.tf32);
    context.setAllowTF32CuDNN(modes.tf32);
    context.setBenchmarkCuDNN(modes.benchmark);
    context.setDeterministicCuDNN(modes.deterministic);
  }

  void* stream() const override { return c10::cuda::getCurrentCUDAStream().stream(); }

  std::unique_ptr<QueueMark> mark() override { return std::make_unique<Mark>(); }

  std::vector<at::Tensor> to_device(const std::vector<at::Tensor>& host) override {
    const c10::cuda::CUDAStream step = c10::cuda::getCurrentCUDAStream();
    std::vector<at::Tensor> there(host.size());
    {
      const c10::cuda::CUDAStreamGuard beside(*copies_);
      for (size_t i = 0; i < host.size(); i++) {
        if (!host[i].defined()) continue;
        if (holds(host[i])) {
          there[i] = host[i];
          continue;
        }
        // From memory that is not pinned a copy would make the host wait.
        const at::Tensor pinned = host[i].is_pinned() ? host[i] : host[i].pin_memory();
        there[i] = pinned.to(step.device(), true);
        // Its memory belongs to the stream of the copies, which must not use it again before the step is done with it.
        c10::cuda::CUDACachingAllocator::recordStream(there[i].storage().data_ptr(), step);
      }
      copied_.record(*copies_);
    }
    copied_.block(step);
    return there;
  }

  at::Tensor to_host(const at::Tensor& tensor) override {
    return host_memory(tensor.sizes(), tensor.scalar_type()).copy_(tensor, true);
  }

  at::Tensor host_memory(at::IntArrayRef sizes, at::ScalarType type) override {
    return at::empty(sizes, at::TensorOptions().dtype(type).pinned_memory(true));
  }

  at::Generator generator(uint64_t site, uint64_t seed) override { return capture_.generator(site, seed); }

  std::unique_ptr<Replay> capture(size_t draws, const std::function<std::vector<at::Tensor>()>& compute) override {
    return capture_.capture(draws, compute);
  }

  void give_back() override { c10::cuda::CUDACachingAllocator::emptyCache(); }

  c10::intrusive_ptr<c10d::Backend> make_group(const c10::intrusive_ptr<c10d::Store>& store, int rank, int world,
                                               std::chrono::milliseconds timeout) override {
    return make_nccl_group(store, rank, world, timeout);
  }

 private:
  Capture capture_;
  std::optional<c10::cuda::CUDAStream> copies_;
  at::cuda::CUDAEvent copied_;
};

}  // namespace

}  // namespace ltr::cuda

/// The one name that the runtime looks for.
extern "C" [[gnu::visibility("default")]] ltr::Accelerator* ltr_accelerator() {
  static ltr::cuda::Cuda cuda;
  return &cuda;
}
