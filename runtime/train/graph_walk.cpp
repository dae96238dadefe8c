#include "runtime/train/graph_walk.h"

#include <ATen/ATen.h>
#include <c10/core/GradMode.h>
#include <c10/util/flat_hash_map.h>
#include <torch/csrc/autograd/function.h>
#include <torch/csrc/autograd/functions/accumulate_grad.h>
#include <torch/csrc/autograd/variable.h>

#include <algorithm>
#include <vector>

#include "runtime/api/error.h"

namespace ltr {

using torch::autograd::Node;

namespace {

/// A node of the graph while the pass runs.
struct Task {
  Node* node = nullptr;
  torch::autograd::AccumulateGrad* leaf = nullptr;  ///< the node itself, if it is a leaf's
  uint64_t order = 0;                               ///< later nodes of the forward pass first, as in the engine
  int waits_for = 0;                                ///< edges that have not delivered
  torch::autograd::variable_list inputs;
};

bool has_hooks(Node& node) {
  return !node.tensor_pre_hooks().empty() || !node.pre_hooks().empty() || !node.post_hooks().empty() ||
         !node.retains_grad_hooks().empty();
}

/// Whether nobody else sees the memory of `tensor`.
bool is_sole_owner(const at::Tensor& tensor) {
  return tensor.use_count() == 1 && tensor.has_storage() && tensor.storage().use_count() == 1;
}

void add_into(at::Tensor& sum, at::Tensor&& term) {
  if (!sum.defined()) {
    sum = std::move(term);
  } else if (is_sole_owner(sum) && sum.is_non_overlapping_and_dense() && sum.sizes() == term.sizes()) {
    sum.add_(term);
  } else {
    sum = at::add(sum, term);
  }
}

void accumulate(const at::Tensor& variable, at::Tensor&& gradient) {
  at::Tensor& grad = variable.mutable_grad();
  if (grad.defined()) {
    grad.add_(gradient);
  } else if (is_sole_owner(gradient) && gradient.strides() == variable.strides()) {
    grad = std::move(gradient);
  } else {
    grad = at::empty_like(variable.detach()).copy_(gradient);
  }
}

/// Gradients of broadcast operands are summed here, as in the engine, and take the operand's type.
void fit(at::Tensor& gradient, const torch::autograd::InputMetadata& metadata) {
  if (!metadata.is_same_shape(gradient)) {
    if (!metadata.is_expandable_to_shape(gradient)) {
      throw error_here(err::shape_check_failed, "a backward function gave a gradient of a wrong shape");
    }
    gradient = metadata.reduce_grad(gradient);
  }
  const auto type = c10::typeMetaToScalarType(metadata.dtype());
  if (gradient.scalar_type() != type) gradient = gradient.to(type);
}

}  // namespace

struct GraphWalk::Impl {
  // Kept between passes for their memory.
  std::vector<Task> tasks;
  size_t count = 0;
  ska::flat_hash_map<Node*, size_t> places;
  std::vector<size_t> ready;  // a heap by `order`

  size_t place_of(Node* node) {
    const auto [found, is_new] = places.emplace(node, count);
    if (is_new) {
      if (count == tasks.size()) tasks.emplace_back();
      Task& task = tasks[count++];
      task.node = node;
      task.leaf = dynamic_cast<torch::autograd::AccumulateGrad*>(node);
      task.order = node->sequence_nr();
      task.waits_for = 0;
      task.inputs.clear();
    }
    return found->second;
  }

  void clear() {
    for (size_t i = 0; i < count; i++) tasks[i].inputs.clear();
    count = 0;
    places.clear();
    ready.clear();
  }

  /// Finds all nodes and counts the edges into each. False if one has hooks.
  bool explore(Node* root) {
    place_of(root);
    for (size_t i = 0; i < count; i++) {
      Node* node = tasks[i].node;
      if (has_hooks(*node)) return false;
      if (tasks[i].leaf != nullptr && tasks[i].leaf->tensor_post_acc_grad_hooks() != nullptr) return false;
      for (const torch::autograd::Edge& edge : node->next_edges()) {
        if (edge.is_valid()) tasks[place_of(edge.function.get())].waits_for++;
      }
    }
    return true;
  }

  bool comes_later(size_t a, size_t b) const { return tasks[a].order < tasks[b].order; }
  void push(size_t place) {
    ready.push_back(place);
    std::push_heap(ready.begin(), ready.end(), [this](size_t a, size_t b) { return comes_later(a, b); });
  }
  size_t pop() {
    std::pop_heap(ready.begin(), ready.end(), [this](size_t a, size_t b) { return comes_later(a, b); });
    const size_t place = ready.back();
    ready.pop_back();
    return place;
  }

  void deliver(const torch::autograd::Edge& edge, at::Tensor&& gradient) {
    Node* target = edge.function.get();
    const size_t place = places.find(target)->second;
    Task& task = tasks[place];
    if (gradient.defined()) {
      fit(gradient, target->input_metadata(edge.input_nr));
      if (task.inputs.empty()) task.inputs.resize(target->num_inputs());
      add_into(task.inputs[edge.input_nr], std::move(gradient));
    }
    if (--task.waits_for == 0) push(place);
  }

  void run_task(size_t place, bool keep_graph) {
    Node* node = tasks[place].node;
    torch::autograd::variable_list inputs = std::move(tasks[place].inputs);
    tasks[place].inputs.clear();
    const bool is_reached = !inputs.empty();
    if (tasks[place].leaf != nullptr) {
      if (is_reached) accumulate(tasks[place].leaf->variable, std::move(inputs[0]));
      return;
    }
    const torch::autograd::edge_list& edges = node->next_edges();
    torch::autograd::variable_list outputs;
    if (is_reached) {
      outputs = (*node)(std::move(inputs));
    }
    outputs.resize(std::max(outputs.size(), edges.size()));
    if (!keep_graph) {
      node->will_release_variables();
      node->release_variables();
    }
    for (size_t i = 0; i < edges.size(); i++) {
      if (edges[i].is_valid()) deliver(edges[i], std::move(outputs[i]));
    }
  }
};

GraphWalk::GraphWalk() : impl_(new Impl) {}

GraphWalk::~GraphWalk() = default;

bool GraphWalk::run(const at::Tensor& loss, const at::Tensor& gradient, bool keep_graph) {
  if (!loss.is_cpu()) return false;
  const torch::autograd::Edge root = torch::autograd::impl::gradient_edge(loss);
  struct Clear {
    Impl& impl;
    ~Clear() { impl.clear(); }
  } const clear{*impl_};
  if (!impl_->explore(root.function.get())) return false;
  const c10::AutoGradMode no_grad(false);
  Task& first = impl_->tasks[0];
  first.inputs.resize(first.node->num_inputs());
  first.inputs[root.input_nr] = gradient;
  impl_->push(0);
  while (!impl_->ready.empty()) impl_->run_task(impl_->pop(), keep_graph);
  return true;
}

}  // namespace ltr
