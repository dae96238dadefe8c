#pragma once

// Work of a GPU as CUDA graphs: captured once, launched by one call.

#include <c10/cuda/CUDAStream.h>

#include <optional>

#include "runtime/tensor/accelerator.h"

namespace ltr::cuda {

/// Captures of the device that is chosen, which share one pool of memory.
class Capture {
 public:
  /// As those of Accelerator.
  at::Generator generator(uint64_t site, uint64_t seed);
  std::unique_ptr<Replay> capture(size_t draws, const std::function<std::vector<at::Tensor>()>& compute);

 private:
  /// The draws of a graph: which site each generator is of, and those that no draw has taken so far.
  struct Draws {
    std::vector<at::Generator> generators;
    std::vector<uint64_t> sites;
  };
  class Graph;

  std::optional<std::pair<unsigned long long, unsigned long long>> pool_;
  std::optional<c10::cuda::CUDAStream> stream_;
  Draws* open_ = nullptr;  ///< of the capture that goes on
};

}  // namespace ltr::cuda
