#include "runtime/train/backward.h"

#include <ATen/ATen.h>
#include <torch/csrc/autograd/engine.h>
#include <torch/csrc/autograd/variable.h>

#include <unordered_map>
#include <unordered_set>

#include "runtime/plan/loss_gradient.h"
#include "runtime/tensor/handle.h"
#include "runtime/train/graph_walk.h"

namespace ltr {

struct Backward::Impl {
  const ModelRoot& root;
  const LossScale& scale;
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

Backward::Backward(const ModelRoot& root, const LossScale& scale) : impl_(new Impl{root, scale, {}, {}, {}}) {
  trains_changed();
}

void Backward::trains_changed() {
  impl_->accumulators.clear();
  for (const Entry& entry : impl_->root.weights()) {
    const In tensor(entry.tensor);
    if (tensor->requires_grad()) {
      impl_->accumulators.emplace(entry.tensor.impl(), torch::autograd::impl::grad_accumulator(tensor));
    }
  }
}

Backward::~Backward() = default;

bool Backward::reaches(const at::Tensor& loss) {
  return loss.requires_grad() || plan::LossGradient::of(loss) != nullptr;
}

namespace {

void check_scalar(const at::Tensor& loss) {
  if (loss.numel() == 1) return;
  throw error_here(err::shape_check_failed,
                   fmt::format("the loss is [{}], not a scalar", fmt::join(loss.sizes().vec(), ", ")));
}

/// The gradient of `loss` times `share` begins with this.
at::Tensor first_gradient(at::Tensor& one, const at::Tensor& loss, double share, const LossScale& scale) {
  check_scalar(loss);
  if (!loss.requires_grad()) {
    throw error_here(err::settings_contradict, "the loss reaches no weight that is trained");
  }
  if (scale.is_on()) return scale.begin(loss, share);
  if (share != 1) return at::full_like(loss, share);
  if (!one.defined() || one.scalar_type() != loss.scalar_type()) one = at::ones({}, loss.options());
  return loss.dim() == 0 ? one : at::ones_like(loss);
}

}  // namespace

void Backward::run(const at::Tensor& loss, double share, const Optimizer* optimizer, bool keep_graph) {
  if (plan::LossGradient* const own = plan::LossGradient::of(loss)) {
    check_scalar(loss);
    return own->add(share);
  }
  const at::Tensor gradient = first_gradient(impl_->one, loss, share, impl_->scale);
  // If the optimizer owns all weights nothing needs to be left out, and the engine need not mark the graph.
  const bool is_restricted = optimizer != nullptr && optimizer->weights().size() < impl_->root.weights().size();
  if (!is_restricted && impl_->walk.run(loss, gradient, keep_graph)) return;
  torch::autograd::edge_list targets;
  if (is_restricted) targets = impl_->edges(optimizer->weights());
  torch::autograd::Engine::get_default_engine().execute({torch::autograd::impl::gradient_edge(loss)}, {gradient},
                                                        keep_graph, false, true, targets);
}

void Backward::run_summed(const at::Tensor& loss, double share, const Optimizer& optimizer, bool keep_graph,
                          const std::vector<at::Tensor>& unreached, const Given& given, GradientSum& sum) {
  torch::autograd::edge_list roots;
  torch::autograd::variable_list gradients;
  if (loss.defined()) {
    gradients.push_back(first_gradient(impl_->one, loss, share, impl_->scale));
    roots.push_back(torch::autograd::impl::gradient_edge(loss));
  }
  for (const at::Tensor& weight : unreached) {
    roots.push_back(torch::autograd::impl::gradient_edge(weight));
    gradients.push_back(at::zeros_like(weight));
  }
  torch::autograd::edge_list targets = impl_->edges(optimizer.weights());
  if (given.leaf.defined()) {
    targets.push_back(torch::autograd::impl::gradient_edge(given.leaf));
    roots.push_back(targets.back());
    gradients.push_back(given.gradient);
  }
  sum.during([&] {
    torch::autograd::Engine::get_default_engine().execute(roots, gradients, keep_graph, false, true, targets);
  });
}

// Looked for in each step: which ops a step runs may depend on its number, its batch or a hook, and to know that a graph is that
// of the step before takes this same walk. The engine makes a like one, to count what each node waits for.
std::vector<at::Tensor> Backward::unreached(const at::Tensor& loss, const Optimizer& optimizer) {
  std::unordered_set<const torch::autograd::Node*> reached;
  std::vector<torch::autograd::Node*> open;
  if (loss.defined()) open.push_back(torch::autograd::impl::gradient_edge(loss).function.get());
  while (!open.empty()) {
    torch::autograd::Node* node = open.back();
    open.pop_back();
    if (node == nullptr || !reached.insert(node).second) continue;
    for (const torch::autograd::Edge& edge : node->next_edges()) open.push_back(edge.function.get());
  }
  std::vector<at::Tensor> missing;
  for (const Weight& weight : optimizer.weights()) {
    const auto accumulator = impl_->accumulators.find(weight.tensor.impl());
    if (accumulator == impl_->accumulators.end() || reached.contains(accumulator->second.get())) continue;
    missing.push_back(aten(weight.tensor));
  }
  return missing;
}

}  // namespace ltr
