#include "runtime/cuda/capture.h"

#include <ATen/ATen.h>
#include <ATen/cuda/CUDAGeneratorImpl.h>
#include <ATen/cuda/CUDAGraph.h>
#include <c10/cuda/CUDACachingAllocator.h>
#include <c10/cuda/CUDAGuard.h>

#include <mutex>
#include <stdexcept>

namespace ltr::cuda {

namespace {

/// From where a graph goes on, `generator` draws as a new one of that seed would.
void start(at::Generator& generator, uint64_t seed) {
  const std::scoped_lock lock(generator.mutex());
  generator.set_current_seed(seed);
}

/// Ends a capture that failed.
void break_off(at::cuda::CUDAGraph& graph, c10::DeviceIndex device, const at::cuda::MempoolId_t& pool) {
  try {
    graph.capture_end();
    return;
  } catch (const std::exception&) {
  }
  // The device had ended it, so neither the allocator nor the default generator, which all captures have, heard of it.
  try {
    c10::cuda::CUDACachingAllocator::endAllocateToPool(device, pool);
  } catch (const std::exception&) {
  }
  at::Generator generator = at::globalContext().defaultGenerator(c10::Device(c10::DeviceType::CUDA, device));
  generator.graphsafe_set_state(at::cuda::detail::createCUDAGenerator(device).graphsafe_get_state());
}

}  // namespace

class Capture::Graph final : public Replay {
 public:
  explicit Graph(Draws draws) : draws_(std::move(draws)) {
    for (const at::Generator& generator : draws_.generators) graph_.register_generator_state(generator);
  }

  void run(const std::function<uint64_t(uint64_t)>& seed_of) override {
    for (size_t i = 0; i < draws_.sites.size(); ++i) start(draws_.generators[i], seed_of(draws_.sites[i]));
    graph_.replay();
  }

  Draws& draws() { return draws_; }
  at::cuda::CUDAGraph& graph() { return graph_; }

 private:
  Draws draws_;  ///< that the graph reads
  at::cuda::CUDAGraph graph_;
};

at::Generator Capture::generator(uint64_t site, uint64_t seed) {
  if (open_ == nullptr) {
    at::Generator generator = at::globalContext().defaultGenerator(c10::DeviceType::CUDA);
    start(generator, seed);
    return generator;
  }
  // A captured generator starts where each launch says.
  if (open_->sites.size() == open_->generators.size()) throw std::logic_error("more draws than were told of");
  open_->sites.push_back(site);
  return open_->generators[open_->sites.size() - 1];
}

std::unique_ptr<Replay> Capture::capture(size_t draws, const std::function<std::vector<at::Tensor>()>& compute) {
  const c10::DeviceIndex device = c10::cuda::current_device();
  if (!pool_) pool_ = at::cuda::graph_pool_handle();
  // The stream of the step is the default one, which has no captures.
  if (!stream_) stream_ = c10::cuda::getStreamFromPool(false, device);
  Draws with;
  for (size_t i = 0; i < draws; ++i) with.generators.push_back(at::cuda::detail::createCUDAGenerator(device));
  auto graph = std::make_unique<Graph>(std::move(with));
  c10::cuda::getCurrentCUDAStream().synchronize();
  const c10::cuda::CUDAStreamGuard here(*stream_);
  // Threads that read data go on making pinned memory.
  graph->graph().capture_begin(*pool_, cudaStreamCaptureModeThreadLocal);
  open_ = &graph->draws();
  try {
    compute();
    open_ = nullptr;
    graph->graph().capture_end();
  } catch (...) {
    open_ = nullptr;
    break_off(graph->graph(), device, *pool_);
    throw;
  }
  return graph;
}

}  // namespace ltr::cuda
