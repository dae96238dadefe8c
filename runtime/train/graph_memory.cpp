#include "runtime/train/graph_memory.h"

#include <torch/csrc/autograd/engine.h>

#include <utility>

namespace ltr {

namespace {

thread_local const GraphMemory::Keep* keeping = nullptr;

/// LibTorch's own engine, but for what its graphs keep.
class Engine final : public torch::autograd::Engine {
 public:
  std::unique_ptr<torch::autograd::SavedVariableHooks> get_default_saved_variable_hooks() override {
    return keeping == nullptr ? nullptr : (*keeping)();
  }
  static torch::autograd::Engine& get() {
    static Engine* engine = new Engine;  // as LibTorch's own, it ends with the process
    return *engine;
  }
};

}  // namespace

GraphMemory::GraphMemory(Keep keep) : keep_(std::move(keep)), before_(std::exchange(keeping, &keep_)) {
  torch::autograd::set_default_engine_stub(&Engine::get);
}

GraphMemory::~GraphMemory() { keeping = before_; }

}  // namespace ltr
