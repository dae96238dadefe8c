#pragma once

// What the graph of a step keeps for the backward pass. Without more, autograd keeps the tensors that ops give it.

#include <torch/csrc/autograd/saved_variable_hooks.h>

#include <functional>
#include <memory>

namespace ltr {

/// While it lives, graphs of this thread keep each tensor by what `keep` makes for it.
class GraphMemory {
 public:
  using Keep = std::function<std::unique_ptr<torch::autograd::SavedVariableHooks>()>;

  explicit GraphMemory(Keep keep);
  ~GraphMemory();
  GraphMemory(const GraphMemory&) = delete;
  GraphMemory& operator=(const GraphMemory&) = delete;

 private:
  Keep keep_;
  const Keep* before_;
};

}  // namespace ltr
