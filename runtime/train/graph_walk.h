#pragma once

// A backward pass on the CPU without LibTorch's engine: one thread, no device queues, no thread-local state to carry.
// For small models the engine's own work per node is more than the arithmetic.

#include <ATen/core/Tensor.h>

#include <memory>

namespace ltr {

class GraphWalk {
 public:
  GraphWalk();
  ~GraphWalk();

  /// Adds the gradient of `loss`, times `gradient`, into the `grad` of all leaves that it reaches: the same sums in the
  /// same order as the engine's. False, with nothing done, if the graph has hooks or is not on the CPU.
  bool run(const at::Tensor& loss, const at::Tensor& gradient, bool keep_graph);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace ltr
