#include "runtime/train/backward.h"

#include <ATen/ATen.h>
#include <torch/csrc/autograd/engine.h>
#include <torch/csrc/autograd/variable.h>

#include <unordered_map>

#include "runtime/tensor/handle.h"
#include "runtime/train/graph_walk.h"

namespace ltr {

struct Backward::Impl {
  const ModelRoot& root;
  // Held for the run: a variable holds its accumulator weakly, and each step would make new ones.
  std::unordered_map<const void*, std::shared_ptr<torch::autograd::Node>> accumulators;
  at::Tensor one;  // the gradient of a loss whose share is 1
  GraphWalk walk;

  torch::autograd::edge_list edges(const Weights& weights) {
    torch::autograd::edge_list list;
    for (const Weight& weight : weights) {
      const In tensor(weight.tensor);
      if (tensor->requires_grad()) list.push_back(torch::autograd::impl::gradient_edge(tensor));
    }
    return list;
  }
};

Backward::Backward(const ModelRoot& root) : impl_(new Impl{root, {}, {}, {}}) {
  for (const Entry& entry : root.weights()) {
    const In tensor(entry.tensor);
    if (tensor->requires_grad()) {
      impl_->accumulators.emplace(entry.tensor.impl(), torch::autograd::impl::grad_accumulator(tensor));
    }
  }
}

Backward::~Backward() = default;

void Backward::run(const at::Tensor& loss, double share, const Optimizer* optimizer, bool keep_graph) {
  if (loss.numel() != 1) {
    throw error_here(err::shape_check_failed, fmt::format("the loss is [{}], not a scalar", fmt::join(loss.sizes().vec(), ", ")));
  }
  if (!loss.requires_grad()) {
    throw error_here(err::settings_contradict, "the loss reaches no weight that is trained");
  }
  at::Tensor gradient;
  if (share == 1) {
    if (!impl_->one.defined() || impl_->one.scalar_type() != loss.scalar_type()) impl_->one = at::ones({}, loss.options());
    gradient = loss.dim() == 0 ? impl_->one : at::ones_like(loss);
  } else {
    gradient = at::full_like(loss, share);
  }
  // If the optimizer owns all weights nothing needs to be left out, and the engine need not mark the graph.
  const bool is_restricted = optimizer != nullptr && optimizer->weights().size() < impl_->root.weights().size();
  if (!is_restricted && impl_->walk.run(loss, gradient, keep_graph)) return;
  torch::autograd::edge_list targets;
  if (is_restricted) targets = impl_->edges(optimizer->weights());
  torch::autograd::Engine::get_default_engine().execute({torch::autograd::impl::gradient_edge(loss)}, {gradient},
                                                        keep_graph, false, true, targets);
}

}  // namespace ltr
