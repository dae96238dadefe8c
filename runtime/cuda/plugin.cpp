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

class Copy final : public AheadCopy {
 public:
  Copy(const std::vector<at::Tensor>& host, c10::cuda::CUDAStream stream) {
    const c10::cuda::CUDAStreamGuard beside(stream);
    for (const at::Tensor& tensor : host) {
      // From memory that is not pinned a copy would make the host wait.
      const at::Tensor pinned = tensor.defined() && !tensor.is_pinned() ? tensor.pin_memory() : tensor;
      tensors_.push_back(tensor.defined() ? pinned.to(stream.device(), true) : tensor);
    }
    arrived_.record(stream);
  }

  std::vector<at::Tensor> take() override {
    const c10::cuda::CUDAStream step = c10::cuda::getCurrentCUDAStream();
    arrived_.block(step);
    // Their memory belongs to the stream of the copies, which must not use it again before the step is done with it.
    for (const at::Tensor& tensor : tensors_) {
      if (tensor.defined()) c10::cuda::CUDACachingAllocator::recordStream(tensor.storage().data_ptr(), step);
    }
    return std::move(tensors_);
  }

 private:
  std::vector<at::Tensor> tensors_;
  at::cuda::CUDAEvent arrived_;
};

class Cuda final : public Accelerator {
 public:
  c10::DeviceType type() const override { return c10::DeviceType::CUDA; }

  std::string version() const override {
    int runtime = 0, nccl = 0;
    cudaRuntimeGetVersion(&runtime);
    ncclGetVersion(&nccl);
    const long cudnn = at::detail::getCUDAHooks().versionCuDNN();
    const auto text = [](long number) { return std::to_string(number); };
    return text(runtime / 1000) + '.' + text(runtime % 1000 / 10) + ", cuDNN " + text(cudnn / 10000) + '.' +
           text(cudnn / 100 % 100) + ", NCCL " + text(nccl / 10000) + '.' + text(nccl / 100 % 100) + '.' + text(nccl % 100);
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
    const auto tensors = stats.allocated_bytes[0], reserved = stats.reserved_bytes[0];
    return {int64_t(total), int64_t(free), tensors.current, reserved.current, tensors.peak};
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

  std::unique_ptr<AheadCopy> copy_ahead(const std::vector<at::Tensor>& host) override {
    return std::make_unique<Copy>(host, *copies_);
  }

  at::Tensor to_host(const at::Tensor& tensor) override {
    const at::Tensor host = host_memory(tensor.sizes(), tensor.scalar_type());
    host.copy_(tensor, true);
    return host;
  }

  at::Tensor host_memory(at::IntArrayRef sizes, at::ScalarType type) override {
    return at::empty(sizes, at::TensorOptions().dtype(type).pinned_memory(true));
  }

  c10::intrusive_ptr<c10d::Backend> make_group(const c10::intrusive_ptr<c10d::Store>& store, int rank, int world,
                                               std::chrono::milliseconds timeout) override {
    return make_nccl_group(store, rank, world, timeout);
  }

 private:
  std::optional<c10::cuda::CUDAStream> copies_;
};

}  // namespace

}  // namespace ltr::cuda

/// The one name that the runtime looks for.
extern "C" [[gnu::visibility("default")]] ltr::Accelerator* ltr_accelerator() {
  static ltr::cuda::Cuda cuda;
  return &cuda;
}
